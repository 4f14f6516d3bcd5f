"""Views: the mapping from the elements of an ONNX tensor to the result of a node.

A file's tensors are (batch, channels, height, width), a node's (height, width, channels). So a tensor is a node and the
order of its axes there. A transposition only changes the order, and a reshape only splits or merges axes. Neither needs
a node: an operator requests the order that it needs (``relayout``), and usually the tensor already has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Shape


@dataclass(frozen=True, eq=False)
class Atom:
    """An axis or a part of an axis without a split. It compares by identity: two atoms of one size differ."""

    size: int


@dataclass(frozen=True)
class View:
    """A tensor of the file. Axes of length 1 have no atoms.

    Attributes:
        node: name of the node that computes it.
        stored: all atoms in the order of the node, slowest first.
        axes: the atoms of each axis of the file's tensor, slowest first. The batch is the first axis.
    """

    node: str
    stored: tuple[Atom, ...]
    axes: tuple[tuple[Atom, ...], ...]

    @property
    def shape(self) -> Shape:
        """The file's shape, with the batch."""
        return tuple(math.prod(atom.size for atom in axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod(atom.size for atom in self.stored)

    def at(self, node: str) -> View:
        """Return a tensor of the same shape, stored in the same order by another node."""
        return replace(self, node=node)

    def transposed(self, order: Sequence[int]) -> View:
        """Return the tensor with its axes in another order."""
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def reshaped(self, shape: Shape) -> View | None:
        """Return the tensor in another shape of the same size, or None if its stored order does not allow a view."""
        flat = self._with_merged([atom for axis in self.axes for atom in axis])
        remaining = [atom for axis in flat.axes for atom in axis]
        stored = list(flat.stored)
        axes: list[tuple[Atom, ...]] = []
        for size in shape:
            missing, atoms = size, []
            while missing > 1:
                if not remaining:
                    return None
                atom = remaining.pop(0)
                if atom.size > missing or missing % atom.size:
                    if atom.size % missing:
                        return None
                    outer, inner = Atom(missing), Atom(atom.size // missing)
                    index = stored.index(atom)
                    stored[index : index + 1] = [outer, inner]
                    remaining.insert(0, inner)
                    atom = outer
                atoms.append(atom)
                missing //= atom.size
            axes.append(tuple(atoms))
        return None if remaining else View(self.node, tuple(stored), tuple(axes))

    def merged(self) -> View:
        """Return the tensor with as few atoms as possible. Atoms adjacent in both the axis and the node merge."""
        view = self
        for axis in self.axes:
            view = view._with_merged(axis)
        return view

    def _with_merged(self, run: Iterable[Atom]) -> View:
        """Return the tensor with atoms merged that are adjacent in the run and in the node.

        The axis of the first atom of each group has the result.
        """
        groups: list[list[Atom]] = []
        for atom in run:
            after = self.stored.index(groups[-1][-1]) + 1 if groups else 0
            if groups and after < len(self.stored) and self.stored[after] is atom:
                groups[-1].append(atom)
            else:
                groups.append([atom])
        replacements = {group[0]: Atom(math.prod(atom.size for atom in group)) for group in groups if len(group) > 1}
        removed = {atom for group in groups for atom in group[1:]}

        def replaced(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
            return tuple(replacements.get(atom, atom) for atom in atoms if atom not in removed)

        return View(self.node, replaced(self.stored), tuple(replaced(axis) for axis in self.axes))

    def order(self) -> tuple[int, ...] | None:
        """Return the axes longer than 1 in the order of the node, or None if an axis is not contiguous."""
        view = self.merged()
        if any(len(axis) > 1 for axis in view.axes):
            return None
        axis_of_atom = {atoms[0]: axis for axis, atoms in enumerate(view.axes) if atoms}
        return tuple(axis_of_atom[atom] for atom in view.stored)

    def atoms_in(self, order: Sequence[int]) -> tuple[Atom, ...]:
        """Return all atoms, axis by axis in the given order."""
        return tuple(atom for axis in order for atom in self.axes[axis])

    def split_at(self, dims: Shape) -> tuple[View, list[list[Atom]]] | None:
        """Return the tensor with atoms split at the dimensions of its node, and the atoms of each dimension.

        The result is None if an atom extends across two dimensions and cannot be split.
        """
        stored, axes = list(self.stored), [list(axis) for axis in self.axes]
        groups: list[list[Atom]] = []
        index = 0
        for size in dims:
            missing, group = size, []
            while missing > 1:
                if index >= len(stored):
                    return None
                atom = stored[index]
                if atom.size > missing or missing % atom.size:
                    if atom.size % missing:
                        return None
                    outer, inner = Atom(missing), Atom(atom.size // missing)
                    for atoms in (stored, *axes):
                        if atom in atoms:
                            position = atoms.index(atom)
                            atoms[position : position + 1] = [outer, inner]
                    atom = outer
                group.append(atom)
                missing //= atom.size
                index += 1
            groups.append(group)
        return View(self.node, tuple(stored), tuple(map(tuple, axes))), groups

    def as_stored(self, value: NDArray[Any]) -> NDArray[Any]:
        """Return an array of the file's shape, or one that broadcasts to it, in the order of the node.

        The result has an axis for each atom. Its length is 1 where the array's is.
        """
        sizes: tuple[int, ...] = (1,) * (len(self.axes) - value.ndim) + value.shape
        atom_sizes: list[int] = []
        for axis, size in zip(self.axes, sizes):
            atom_sizes += [1 if size == 1 else atom.size for atom in axis]
        positions = {atom: index for index, atom in enumerate(atom for axis in self.axes for atom in axis)}
        stored: NDArray[Any] = value.reshape(atom_sizes).transpose([positions[atom] for atom in self.stored])
        return stored

    def as_in_file(self, stored: NDArray[Any]) -> NDArray[Any]:
        """Return the result of the node in the file's shape: the inverse of ``as_stored``."""
        positions = {atom: index for index, atom in enumerate(self.stored)}
        order = [positions[atom] for axis in self.axes for atom in axis]
        by_atoms = np.asarray(stored).reshape([atom.size for atom in self.stored])
        in_file: NDArray[Any] = by_atoms.transpose(order).reshape(self.shape)
        return in_file


def fresh(node: str, shape: Shape, order: Sequence[int] | None = None) -> View:
    """Return the view of a tensor of the file's ``shape``. ``order`` is the order of its axes in the node.

    The default is the file's order. Axes of length 1 can be left out of the order.
    """
    axes = tuple((Atom(size),) if size > 1 else () for size in shape)
    stored_axes = range(len(shape)) if order is None else order
    return View(node, tuple(atom for axis in stored_axes for atom in axes[axis]), axes)


MAP_ORDER = (0, 2, 3, 1)
"""Order in nodes of a feature map's axes (batch, channels, height, width)."""


def default_order(rank: int) -> tuple[int, ...]:
    """Return the default order of the axes of a tensor: channels last in a map."""
    return MAP_ORDER if rank == 4 else tuple(range(rank))
