"""How a client moves its beliefs towards its data, many clients at once."""

from surefed.learn.base import Learner, Lesson, Rows, draw_batches
from surefed.learn.early_stop import Watch
from surefed.learn.functional import Network
from surefed.learn.point import Point
from surefed.learn.prediction import accuracy, log_loss, losses, predict
from surefed.learn.variational import KLWeights, Prior, Variational, kl_shares

__all__ = [
    "KLWeights",
    "Learner",
    "Lesson",
    "Network",
    "Point",
    "Prior",
    "Rows",
    "Variational",
    "Watch",
    "accuracy",
    "draw_batches",
    "kl_shares",
    "log_loss",
    "losses",
    "predict",
]
