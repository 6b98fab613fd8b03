"""Solves many small systems of equations, then a large one."""

import numpy


def small_ones(numbers):
    return sum(float(numpy.linalg.solve(a, b)[0]) for a, b in numbers)


def large_one(a, b):
    return float(numpy.linalg.solve(a, b)[0])


random = numpy.random.default_rng(1)
small_ones([(random.random((3, 3)), random.random(3)) for _ in range(500)])
large_one(random.random((800, 800)), random.random(800))
