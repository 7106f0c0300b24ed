from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import Belief
from surefed.peer.refused import Reason, Refused
from surefed.peer.wire import check, decode, encode
from surefed.peer.wire.payload import BLOCK


def bits(*patterns: int) -> bytes:
    return b"".join(struct.pack("<I", pattern) for pattern in patterns)


def test_a_belief_is_its_means_then_its_rhos_in_little_endian_float32() -> None:
    belief = Belief(torch.tensor([1.0, -2.0]), torch.tensor([0.5, -3.0]))
    # 1.0 is 0x3f800000, -2.0 0xc0000000, 0.5 0x3f000000, -3.0 0xc0400000
    assert encode(belief) == bytes.fromhex("0000803f 000000c0 0000003f 000040c0")


def test_half_the_size_is_the_upper_half_of_each_number_rounded() -> None:
    # 1 + 2^-8 lies half way between two bfloat16, and goes to the even one, 1.0; 1 + 3 * 2^-8 to 1 + 2^-6, 0x3f82
    belief = Belief(torch.tensor([1.0, 1 + 2.0**-8]), torch.tensor([1 + 3 * 2.0**-8, -3.0]))
    assert encode(belief, "bfloat16") == bytes.fromhex("803f 803f 823f 40c0")
    heard = decode(encode(belief, "bfloat16"), 2, "bfloat16")
    assert torch.equal(heard.mean, belief.rounded().mean)
    assert torch.equal(heard.rho, belief.rounded().rho)
    with pytest.raises(Refused, match="8 bytes do not hold 2 means and rhos as float32"):
        decode(encode(belief, "bfloat16"), 2)


@pytest.mark.parametrize(
    ("pattern", "reason"), [(0x7FC0, Reason.NOT_FINITE), (0xFF80, Reason.NOT_FINITE), (0x807F, Reason.SUBNORMAL)]
)
def test_a_bad_number_of_half_the_size_is_refused(pattern: int, reason: Reason) -> None:
    with pytest.raises(Refused, match="the rho of weight 0") as refused:
        decode(struct.pack("<4H", 0x3F80, 0x8000, pattern, 0x3F80), 2, "bfloat16")
    assert refused.value.reason is reason


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False), min_size=2, max_size=20)
)
def test_what_is_sent_is_what_arrives(numbers: list[float]) -> None:
    half = len(numbers) // 2
    belief = Belief(torch.tensor(numbers[:half]), torch.tensor(numbers[half : 2 * half]))
    heard = decode(encode(belief), half)
    assert torch.equal(heard.mean, belief.mean)
    assert torch.equal(heard.rho, belief.rho)


@given(st.binary(max_size=40), st.integers(1, 5))
def test_whatever_arrives_is_a_belief_of_normal_numbers_or_refused(payload: bytes, weights: int) -> None:
    plain = [struct.unpack("<f", payload[at : at + 4])[0] for at in range(0, len(payload) - 3, 4)]
    normal = all(number == 0 or 2.0**-126 <= abs(number) < 2.0**128 for number in plain)  # False for a NaN
    try:
        heard = decode(payload, weights)
    except Refused:
        assert len(payload) != 8 * weights or not normal
    else:
        assert len(payload) == 8 * weights
        assert normal
        assert torch.cat([heard.mean, heard.rho]).tolist() == plain


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (0x7FC00000, Reason.NOT_FINITE),  # a quiet NaN
        (0xFF800001, Reason.NOT_FINITE),  # a signalling NaN
        (0x7F800000, Reason.NOT_FINITE),  # infinity
        (0xFF800000, Reason.NOT_FINITE),
        (0x00000001, Reason.SUBNORMAL),  # the smallest float32 above 0
        (0x807FFFFF, Reason.SUBNORMAL),  # the largest subnormal, negative
    ],
)
@pytest.mark.parametrize("at", [0, 2, 3, 5])
def test_a_bad_number_is_refused_and_named(pattern: int, reason: Reason, at: int) -> None:
    patterns = [0x3F800000] * 6
    patterns[at] = pattern
    with pytest.raises(Refused) as refused:
        decode(bits(*patterns), 3)
    assert refused.value.reason is reason
    assert f"the {'mean' if at < 3 else 'rho'} of weight {at % 3}" in refused.value.why


@pytest.mark.parametrize("pattern", [0, 0x80000000, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF])
def test_zeros_and_the_extremes_of_normal_numbers_pass(pattern: int) -> None:
    check(bits(pattern, pattern), 1)


@pytest.mark.parametrize("size", [0, 8, 23, 25, 4 * 6 + 4, 48])
def test_any_other_size_is_refused(size: int) -> None:
    with pytest.raises(Refused) as refused:
        decode(bytes(size), 3)
    assert refused.value.reason is Reason.SIZE


def test_a_bad_number_is_found_beyond_the_first_block() -> None:
    weights = BLOCK
    payload = bytearray(8 * weights)
    payload[-4:] = bits(0x7FC00000)
    with pytest.raises(Refused, match=f"rho of weight {weights - 1} is not finite"):
        check(bytes(payload), weights)


def test_subnormals_of_ones_own_are_sent_as_zero() -> None:
    tiny = float(np.float32(1e-40))
    mine = Belief(torch.tensor([tiny, 1.0]), torch.tensor([-tiny, -2.0]))
    heard = decode(encode(mine), 2)
    assert heard.mean.tolist() == [0.0, 1.0]
    assert heard.rho.tolist() == [0.0, -2.0]
    assert mine.mean[0] == tiny  # the belief itself is left alone


def test_one_belief_is_sent_at_a_time() -> None:
    with pytest.raises(ValueError, match="one belief"):
        encode(Belief(torch.zeros(2, 3), torch.zeros(2, 3)))
