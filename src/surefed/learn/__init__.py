"""How a client moves its beliefs towards its data, many clients at once."""

from surefed.learn.base import Learner, Lesson, Rows, draw_batches, values_at_once
from surefed.learn.early_stop import Watch
from surefed.learn.fast import outputs
from surefed.learn.functional import Network
from surefed.learn.ivon import Ivon
from surefed.learn.likelihood import Categorical, Figure, Gaussian, Likelihood, accuracy, log_loss, losses
from surefed.learn.masks import Masks
from surefed.learn.point import Point
from surefed.learn.prediction import distinct, predict
from surefed.learn.variational import KLWeights, Prior, Variational, kl_shares

__all__ = [
    "Categorical",
    "Figure",
    "Gaussian",
    "Ivon",
    "KLWeights",
    "Learner",
    "Lesson",
    "Likelihood",
    "Masks",
    "Network",
    "Point",
    "Prior",
    "Rows",
    "Variational",
    "Watch",
    "accuracy",
    "distinct",
    "draw_batches",
    "kl_shares",
    "log_loss",
    "losses",
    "outputs",
    "predict",
    "values_at_once",
]
