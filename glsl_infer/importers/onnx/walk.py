"""Conversion of a file's operators to nodes, in the order of the file, which is the order of execution."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Shape
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.core.io_options import IoOptions, Range, by_name, require_inputs
from glsl_infer.importers.core.report import AFTER_UNKNOWN, DROPPED, UNKNOWN, LayerStatus, runs
from glsl_infer.importers.onnx import ranges, types
from glsl_infer.importers.onnx.call import Call, Operand, broadcast
from glsl_infer.importers.onnx.computed import computed
from glsl_infer.importers.onnx.file import definition
from glsl_infer.importers.onnx.folding import fold
from glsl_infer.importers.onnx.inputs import agrees, constant_of, input_view
from glsl_infer.importers.onnx.model import Model, Numbers, Operator, Part, renamed
from glsl_infer.importers.onnx.nodes import MOST_NUMBERS, Nodes
from glsl_infer.importers.onnx.norm_pieces import with_group_norms, with_norms
from glsl_infer.importers.onnx.operators import convert
from glsl_infer.importers.onnx.row_names import clean, placeholder
from glsl_infer.importers.onnx.scales import with_real_values
from glsl_infer.importers.onnx.sequence_products import with_sequence_products
from glsl_infer.importers.onnx.view import View

MOST_FOLDED = 2**28
"""Largest number of bytes of all folded constants."""


_BYTES: Mapping[str, Range] = {"uint8": (0.0, 255.0), "int8": (-128.0, 127.0)}
"""Value ranges of 8-bit inputs."""


class Walk:
    """Conversion of the operators needed for the outputs.

    Attributes:
        builder: the nodes so far.
        values: every tensor so far, by name: a ``View`` if the network computes it, else an array.
        tensors: the tensor that each node computes, by the node's name.
        names: the names of these tensors in the file.
        inputs: the tensors of the inputs.
        spans: the value ranges of inputs in a quantised file, by the nodes' names.
        constants: inputs of the file that became constants.
    """

    def __init__(self, model: Model, io_options: IoOptions) -> None:
        self._model, self._io_options = model, io_options
        self.builder = GraphBuilder()
        self.values: dict[str, Operand] = {"": None}
        self.tensors: dict[str, View] = {}
        self.names: dict[str, str] = {}
        self.inputs: list[View] = []
        self.spans: dict[str, Range] = {}
        self.constants: dict[str, Numbers] = {}
        self._known_shapes = {**{output.name: output for output in reversed(model.outputs)}, **model.known}
        self._bytes_of: dict[str, Range] = {}
        self._unknown: set[str] = set()
        self._types: dict[str, str] = {}
        self._needed: set[str] = set()
        self._folded_bytes = 0
        self._stored: dict[str, Callable[[], Numbers]] = dict(model.part.constants)

    def import_outputs(self, outputs: Sequence[str]) -> None:
        """Import the inputs, and every operator that the ``outputs`` tensors need.

        Raises:
            ModelError: the file is damaged, or its inputs are not supported. The message has all problems of the
                inputs.
            InputError: a shape or a constant is given for a name that is not an input.
        """
        problems = []
        names = [declared.name for declared in self._model.inputs]
        constants = by_name("--constant", self._io_options.constants, names)
        require_inputs(self._io_options.sizes, [name[:96] for name in names])
        shapes = by_name("--input-shape", self._io_options.shapes, [name for name in names if name not in constants])
        for declared in self._model.inputs:
            shape = shapes.get(declared.name)
            if not agrees(shape, declared):
                self._known_shapes = {}
            try:
                if declared.name in constants:
                    value = constant_of(declared, constants[declared.name])
                    self.values[declared.name] = self.constants[declared.name] = value
                    continue
                view = input_view(declared, self._model, self._io_options.sizes, self.builder, shape)
            except ModelError as error:
                problems.append(error)
                continue
            self.values[declared.name] = view
            self.inputs.append(view)
            self.tensors[view.node], self.names[view.node] = view, declared.name
            if declared.type in _BYTES:
                self._bytes_of[view.node] = _BYTES[declared.type]
        if problems:
            raise ModelError("\n  ".join(map(str, problems)))
        self._require_outputs(outputs)
        part = with_group_norms(with_norms(with_sequence_products(with_real_values(self._model.part))))
        self._stored.update(part.constants)
        self._import_part(part, outputs)
        self.spans = {**self._bytes_of, **self.spans}

    def _require_outputs(self, outputs: Sequence[str]) -> None:
        """Refuse requested outputs that the file does not have."""
        file_tensors = {name for operator in self._model.part.operators for name in operator.outputs}
        file_tensors |= {declared.name for declared in self._model.inputs} | set(self._stored)
        missing = [name for name in outputs if name not in file_tensors]
        if missing:
            raise ModelError(
                f"no operator makes tensor '{missing[0]:.96}', an output; give names of the file's tensors"
            )

    def value(self, name: str) -> View | None:
        """Return a tensor that the network computes, or None if it depends on a refused operator.

        Raises:
            ModelError: the tensor is a constant, or is not computed.
        """
        if name in self._unknown:
            return None
        value = self._operand(name)
        if not isinstance(value, View):
            raise ModelError(f"output '{name:.96}' does not depend on any input; take it out of the model")
        return value

    def _operand(self, name: str) -> Operand:
        """Return a tensor that is imported already, or a constant of the file.

        Raises:
            ModelError: no operator computes the tensor.
        """
        if name not in self.values and name in self._stored:
            self.values[name] = self._stored[name]()
        if name not in self.values:
            raise ModelError(f"nothing makes tensor '{name:.96}'; the file is damaged, get it anew")
        return self.values[name]

    def _import_part(self, part: Part, outputs: Sequence[str]) -> None:
        """Import the operators of a graph that its ``outputs`` need.

        Raises:
            ModelError: a tensor is computed twice, or is read before it is computed.
        """
        needed = set(outputs)
        chosen: list[Operator] = []
        for operator in reversed(part.operators):
            if needed & set(filter(None, operator.outputs)):
                needed.update(operator.reads)
                chosen.append(operator)
        self._needed |= needed
        available = set(self.values) | set(self._stored) | self._unknown
        computed_names: set[str] = set()
        for operator in part.operators:
            for name in filter(None, operator.outputs):
                if name in computed_names or name in available:
                    raise ModelError(f"tensor '{name:.96}' is made twice; the file is damaged, get it anew")
                computed_names.add(name)
        for operator in reversed(chosen):
            self._require_operands(operator, available)
            self._import_operator(operator)
            available.update(operator.outputs)

    def _require_operands(self, operator: Operator, available: set[str]) -> None:
        """Refuse an operator with an input that no earlier operator computes, for example in a cycle."""
        for name in operator.inputs:
            if name not in available:
                raise ModelError(
                    f"operator {operator.kind:.60} reads tensor '{name:.96}', which no earlier operator makes; the "
                    "file is damaged, get it anew"
                )

    def _import_operator(self, operator: Operator) -> None:
        """Fold an operator or convert it to nodes, and record where it runs; record a refusal if neither succeeds."""
        name = self.builder.free_name(clean(next(filter(None, operator.outputs))))
        row = LayerStatus(name, f"{operator.kind:.60}", self._declared(operator.outputs[0]) or (None,), UNKNOWN)
        if self._unknown & set(operator.reads):
            self.builder.rows[name] = replace(row, note=AFTER_UNKNOWN)
            self._unknown.update(filter(None, operator.outputs))
            return
        before = len(self.builder.nodes)
        try:
            operands = [self._operand(source) for source in operator.inputs]
            input_types = self._input_types(operator, operands)
            if self._fold(name, operator, operands, input_types):
                return
            if operator.parts:
                self._import_if(operator, operands, name)
                return
            declared = self._declared(operator.outputs[0])
            call = Call(
                self._without_unread_outputs(operator), operands, Nodes(self.builder, name), input_types, declared
            )
            views = self._converted(call)
        except ModelError as refusal:
            del self.builder.nodes[before:]
            if self._import_definition(operator):
                return
            refusal = refusal if refusal.name else ModelError.layer(name, f"{operator.kind}: {refusal}", "change it")
            self._refuse(operator, name, row.refused(refusal), refusal)
            return
        self.spans.update(ranges.store_range(self.builder, operator, operands, views, before, self.spans))
        node_operators = tuple(node.op for node in self.builder.nodes[before:])
        placement = DROPPED if set(node_operators) <= {"identity"} else runs(node_operators)
        shape = next(view.shape[1:] if len(view.shape) > 1 else view.shape for view in views if isinstance(view, View))
        self.builder.rows[name] = LayerStatus(name, f"{operator.kind:.60}", shape, placement, node_operators)
        self._types.update(zip(operator.outputs, types.results(operator, input_types)))
        for output, view in zip(operator.outputs, views):
            self.values[output] = view
            if isinstance(view, View):
                self._record_tensor(view, output, before)

    def _import_definition(self, operator: Operator) -> bool:
        """Import an operator by its definition in ONNX as a function of others; return whether all are supported."""
        if operator.domain or operator.parts:
            return False
        try:
            operands = [self._operand(name) for name in operator.inputs]
            shapes = [() if value is None else value.shape for value in operands]
            part = definition(operator, self._input_types(operator, operands), shapes)
        except ModelError:
            return False
        if part is None:
            return False
        builder, outputs = self.builder, [name for name in operator.outputs if name in self._needed]
        node_count, refusal_count = len(builder.nodes), len(builder.refusals)
        rows, guessed = dict(builder.rows), set(builder.guessed)
        unknown_nodes, unknown_tensors = set(builder.unknown), set(self._unknown)
        with contextlib.suppress(ModelError):
            self._import_part(part, outputs)
            if len(builder.refusals) == refusal_count and not self._unknown & set(outputs):
                return True
        # Undo the import of the operators before the unsupported one.
        del builder.nodes[node_count:], builder.refusals[refusal_count:]
        builder.rows, builder.guessed, builder.unknown, self._unknown = rows, guessed, unknown_nodes, unknown_tensors
        return False

    def _without_unread_outputs(self, operator: Operator) -> Operator:
        """Return an operator without the outputs after the last one that is read."""
        last_read = max((index for index, name in enumerate(operator.outputs) if name in self._needed), default=0)
        attributes = operator.attributes
        if operator.kind == "Split":
            attributes = {"num_outputs": len(operator.outputs), **attributes}
        elif last_read + 1 == len(operator.outputs):
            return operator
        return replace(operator, outputs=operator.outputs[: last_read + 1], attributes=attributes)

    def _input_types(self, operator: Operator, operands: Sequence[Operand]) -> list[str]:
        """Return the types of an operator's inputs."""
        return [
            str(value.dtype) if isinstance(value, np.ndarray) else self._types.get(name, types.FLOAT) if name else ""
            for name, value in zip(operator.inputs, operands)
        ]

    def _record_tensor(self, view: View, output: str, first: int) -> None:
        """Record the tensor that a node computes, and also for the nodes before it if it only changes their shape."""
        by_name = {node.name: node for node in self.builder.nodes[first:]}
        name = view.node
        while name not in self.tensors:
            self.tensors[name], self.names[name] = replace(view, node=name), output
            if name not in by_name or not ops.get(by_name[name].op).only_reshapes:
                break
            (name,) = by_name[name].inputs

    def _converted(self, call: Call) -> list[Operand]:
        try:
            with np.errstate(all="ignore"):
                views = ranges.saturated(call, convert(call))
        except MISFITS as error:
            what = f"options that make no sense ({str(error)[:200]})"
            raise call.refused(what, "the file is damaged; get it anew") from None
        count = len(call.operator.outputs)
        if len(views) < count:
            raise call.refused(f"its output {count} is read", f"it can have {len(views)} here")
        for view in views:
            if isinstance(view, View) and view.size > MOST_NUMBERS:
                raise call.refused(f"a tensor of shape {view.shape}", f"at most {MOST_NUMBERS} numbers are possible")
        return views

    def _fold(self, name: str, operator: Operator, operands: Sequence[Operand], kinds: Sequence[str]) -> bool:
        """Fold an operator on constants, or one that depends only on the shape of an input; return whether it is one.

        Args:
            name: of the operator's first node.
            operator: the operator.
            operands: its inputs.
            kinds: the types of its inputs.
        """
        free_bytes = MOST_FOLDED - self._folded_bytes
        results = fold(operator, operands, free_bytes, kinds)
        if results is None and not operator.parts and not any(isinstance(value, View) for value in operands):
            results = computed(name, operator, operands, kinds, free_bytes)
        if results is None:
            return False
        self._folded_bytes += sum(result.nbytes for result in results)
        self.values.update({name: result for name, result in zip(operator.outputs, results) if name})
        return True

    def _import_if(self, operator: Operator, operands: Sequence[Operand], name: str) -> None:
        """Import the branch of an If whose condition is a constant, or both if the network computes the condition.

        Raises:
            ModelError: any other operator with a nested graph.
        """
        condition = operands[0] if operands else None
        if operator.kind != "If" or operator.domain or condition is None:
            raise ModelError.layer(
                name,
                f"{operator.kind} with a graph inside, which the network's numbers decide on",
                "export the model without If, Loop and Scan: trace it for one image size",
            )
        if isinstance(condition, View):
            self._select_branch(operator, condition, name)
            return
        branch_outputs = self._import_branch(operator, bool(condition.reshape(-1)[:1].any()), f"{name}/")
        for output, branch_output in zip(operator.outputs, branch_outputs):
            if branch_output in self._unknown:
                self._unknown.add(output)
            elif output:
                self.values[output] = self._operand(branch_output)
                self._types[output] = self._types.get(branch_output, types.FLOAT)

    def _import_branch(self, operator: Operator, condition: bool, prefix: str) -> tuple[str, ...]:
        """Import a branch of an If; return the names of its outputs."""
        branch = operator.attributes.get("then_branch" if condition else "else_branch")
        if not isinstance(branch, Part) or len(branch.outputs) < len(operator.outputs):
            raise ModelError.layer(prefix[:-1], "an If without both branches", "the file is damaged; get it anew")
        branch = renamed(branch, prefix)
        self._stored.update(branch.constants)
        self._import_part(branch, branch.outputs)
        return branch.outputs

    def _select_branch(self, operator: Operator, condition: View, name: str) -> None:
        """Import both branches of an If whose condition the network computes, and add the selection."""
        then_outputs = self._import_branch(operator, True, f"{name}/then/")
        else_outputs = self._import_branch(operator, False, f"{name}/else/")
        for output, if_true, if_false in zip(operator.outputs, then_outputs, else_outputs):
            if not output or {if_true, if_false} & self._unknown:
                self._unknown.add(output)
                continue
            results = [self._operand(if_true), self._operand(if_false)]
            shapes = [() if value is None else tuple(value.shape) for value in results]
            if shapes[0] != shapes[1] or condition.size != 1:
                problem = f"an If whose branches make tensors of {shapes[0]} and of {shapes[1]}"
                raise ModelError.layer(name, problem, "give both the same shape, or trace the model for one of them")
            node_name = self.builder.free_name(clean(output))
            call = Call(operator, [condition, *results], Nodes(self.builder, node_name))
            scalar_condition = View(condition.node, condition.stored, ((),) * len(shapes[0]))
            operands = [
                scalar_condition,
                *(value if isinstance(value, View) else np.asarray(value, np.float32) for value in results),
            ]
            self.values[output] = broadcast(call, "select", operands, ("condition", "yes", "no"))
            self._types[output] = self._types.get(if_true, types.FLOAT)

    def _refuse(self, operator: Operator, name: str, row: LayerStatus, refusal: ModelError) -> None:
        """Record an unsupported operator, and continue with placeholders of its outputs' shapes in the file."""
        self.builder.rows[name] = row
        self.builder.refusals.append(refusal)
        for index, output in enumerate(operator.outputs):
            if not output:
                continue
            shape = self._declared(output)
            node_name = name if not index else self.builder.free_name(clean(output))
            view = None if shape is None else placeholder(self.builder, node_name, shape)
            if view is None:
                self._unknown.add(output)
                self.builder.unknown.add(node_name)
            else:
                self.values[output] = view

    def _declared(self, name: str) -> Shape | None:
        """Return the declared shape of a tensor, with a batch of 1, or None if it is unknown."""
        declared = self._known_shapes.get(name)
        if declared is None or declared.shape is None:
            return None
        sizes = [1 if size is None and not axis else size for axis, size in enumerate(declared.shape)]
        return None if None in sizes else tuple(size for size in sizes if size is not None)
