"""Every public docstring has the sections that numpydoc asks for, and says the default of each parameter."""

import inspect
from dataclasses import fields, is_dataclass

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

import discriminant
from discriminant import datasets, effects, errors, figures, raster, solvers, theory
from discriminant.results import Result

#: Not asked for: an extended summary (ES01), an infinitive in the first line (SS05), a returned value described a
#: second time where its type says it all (RT03).
NOT_ASKED = {"ES01", "SS05", "RT03"}
#: Methods stand beside each other in their class, whose docstring has these for all of them.
OF_THE_CLASS = {"SA01", "EX01"}
#: Results are made by functions, whose examples show them; their fields may stand under Attributes.
OF_A_RESULT = {"EX01", "PR01"}


def public_objects():
    """Every public function and class by its address, each once."""
    found = {}
    for module in (discriminant, datasets, effects, figures, raster, solvers, theory):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):
                found.setdefault(id(thing), f"{module.__name__}.{name}")
    return sorted(found.values())


def resolved(address):
    module, _, name = address.rpartition(".")
    return getattr(discriminant if module == "discriminant" else getattr(discriminant, module.split(".")[1]), name)


def is_result(thing):
    return inspect.isclass(thing) and issubclass(thing, Result) and is_dataclass(thing)


def public_methods():
    for address in public_objects():
        kind = resolved(address)
        if inspect.isclass(kind):
            for name, member in inspect.getmembers(kind):
                ours = (getattr(member, "__module__", None) or "").startswith("discriminant")
                if not name.startswith("_") and ours and inspect.isroutine(member):
                    yield f"{address}.{name}"


def complaints(address, not_asked):
    return [f"{code} {words}" for code, words in validate(address)["errors"] if code not in not_asked]


@pytest.mark.parametrize("address", public_objects())
def test_functions_and_classes_have_every_section(address):
    thing = resolved(address)
    assert not complaints(address, NOT_ASKED | (OF_A_RESULT if is_result(thing) else set()))


@pytest.mark.parametrize("address", [address for address in public_objects() if is_result(resolved(address))])
def test_every_field_of_a_result_is_described(address):
    thing = resolved(address)
    sections = ClassDoc(thing)
    described = {name for part in ("Parameters", "Attributes") for e in sections[part] for name, _ in named(e)}
    assert {field.name for field in fields(thing) if not field.name.startswith("_")} <= described


@pytest.mark.parametrize("address", sorted(public_methods()))
def test_methods_say_what_they_take_and_give(address):
    assert not complaints(address, NOT_ASKED | OF_THE_CLASS)


@pytest.mark.parametrize("address", public_objects())
def test_the_default_of_every_parameter_is_said(address):
    thing = resolved(address)
    documented = {name: words.type for entry in FunctionDoc(thing)["Parameters"] for name, words in named(entry)}
    for name, parameter in inspect.signature(thing).parameters.items():
        if parameter.default is not inspect.Parameter.empty and name in documented:
            said = documented[name]
            expected = "optional" if parameter.default is None else f"default={parameter.default!r}".replace("'", '"')
            assert expected in said.replace("'", '"') or "default=" in said, f"{name} : {said}"


def named(entry):
    return [(name.strip(), entry) for name in entry.name.split(",")]


@pytest.mark.parametrize(
    "kind",
    [k for k in vars(errors).values() if getattr(k, "__module__", "") == errors.__name__],
    ids=lambda kind: kind.__name__,
)
def test_every_error_says_when_it_is_raised(kind):
    assert inspect.getdoc(kind)
