"""Your own data: eight clinics, each with its own patients, three of which swap every diagnosis.

python examples/own_data.py        (about 15 seconds)
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.utils import shuffle

import surefed


def clinics(count=8, seed=0):
    inputs, labels = shuffle(*load_breast_cancer(return_X_y=True), random_state=seed)
    inputs = scale(inputs)
    return {f"clinic {at}": (inputs[at::count], labels[at::count]) for at in range(count)}


if __name__ == "__main__":
    experiment = surefed.Experiment(
        name="clinics",
        rounds=400,
        data={"name": "own_data:clinics", "count": 8},
        model={"name": "mlp", "hidden": [16]},
        rule={"name": "surefed"},
        attack={"name": "label_flip", "malicious": 0.375},
    )
    run = surefed.run(experiment)
    print(f"accuracy of the honest clinics: {run.accuracy:.1%}")
