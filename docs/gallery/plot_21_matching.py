"""
Which word is which
===================

Two lists whose items belong together, one to one: words of a sentence and of its translation. `Matching` learns from a
few aligned pairs, and leaves items alone that have no partner.
"""

import matplotlib.pyplot as plt

from accord import Matching, StructuredPerceptron

X = [
    (["the", "red", "house"], ["la", "casa", "roja"]),
    (["the", "white", "house"], ["la", "casa", "blanca"]),
    (["a", "white", "dog"], ["un", "perro", "blanco"]),
    (["the", "red", "dog"], ["el", "perro", "rojo"]),
]
Y = [[(0, 0), (1, 2), (2, 1)]] * 4
model = StructuredPerceptron(Matching(), random_state=0).fit(X, Y)

english, spanish = ["a", "red", "dog"], ["un", "perro", "rojo"]  # these were never seen together
pairs = model.predict([(english, spanish)])[0]

figure, axes = plt.subplots(figsize=(5, 2.2), layout="constrained")
for i, j in pairs:
    axes.plot([i, j], [1, 0], color="#0072B2")
for k, (above, below) in enumerate(zip(english, spanish)):
    axes.text(k, 1.08, above, ha="center", fontsize=13)
    axes.text(k, -0.22, below, ha="center", fontsize=13)
axes.set(xlim=(-0.5, 2.5), ylim=(-0.35, 1.3))
axes.set_axis_off()
plt.show()
