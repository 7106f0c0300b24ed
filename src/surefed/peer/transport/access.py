"""Who may use which key: a site speaks on its own keys and on no others, told by the certificate of the link.

It is the outer door. Behind a relay every link shows the relay's name, so the signatures inside stay what counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

ROOT = "sf"
OWN = ("put", "declare_queryable", "reply", "liveliness_token")
EVERYBODY = ("query", "declare_subscriber", "liveliness_query", "declare_liveliness_subscriber")


def access_rules(sites: Collection[str]) -> dict[str, Any]:
    """zenoh's access control: what comes in from a site is about itself, or a question.

    A link whose certificate names none of the sites carries nothing.
    """
    rules = [_rule(f"own {site}", "ingress", OWN, f"{ROOT}/*/{site}") for site in sites]
    rules.append(_rule("ask", "ingress", EVERYBODY, f"{ROOT}/**"))
    rules.append(_rule("speak", "egress", OWN + EVERYBODY, f"{ROOT}/**"))
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": rules,
        "subjects": [{"id": site, "cert_common_names": [site]} for site in sites],
        "policies": [
            {"id": f"policy {site}", "rules": [f"own {site}", "ask", "speak"], "subjects": [site]} for site in sites
        ],
    }


def _rule(id: str, flow: str, messages: Iterable[str], key: str) -> dict[str, Any]:
    return {"id": id, "permission": "allow", "flows": [flow], "messages": list(messages), "key_exprs": [key]}
