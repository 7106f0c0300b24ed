"""Your own module on your own arrays, under SureFED, with four of ten sites lying about every label.

python examples/own_model.py        (about 15 seconds)
"""

import torch
from sklearn.datasets import load_digits
from sklearn.utils import shuffle
from torch import nn

import surefed

torch.manual_seed(0)  # the model's own weights are where everybody starts
images, labels = shuffle(*load_digits(return_X_y=True), random_state=0)
sites = [(images[at : at + 60] / 16, labels[at : at + 60]) for at in range(0, 600, 60)]
data = surefed.federation(sites, test=(images[600:] / 16, labels[600:]))
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
experiment = surefed.Experiment(
    name="ten sites",
    rounds=800,
    learn={"learning_rate": 0.003},
    rule={"name": "surefed"},
    attack={"name": "label_flip", "malicious": 0.4},
)
run = surefed.run(experiment, data=data, model=model)
print(f"accuracy of the honest sites: {run.accuracy:.1%}")
print(surefed.plot(run.record, run.folder / "figure.png"))
