"""Parts declare their arguments: their constructors and docstrings are those of the classes at run time."""

import inspect

import griffe


class Parts(griffe.Extension):
    """Puts the signature and the docstring of declared arguments in place of what the source says."""

    def on_class(self, *, cls, **_):
        if not cls.path.startswith("timefem.mechanics."):
            return
        try:
            found = griffe.dynamic_import(cls.path)
        except ImportError:
            return
        if not getattr(found, "fields", None) or "__init__" in vars(found):
            return
        for name in found.fields:
            cls.members.pop(name, None)
        cls.docstring = griffe.Docstring(inspect.getdoc(found), parent=cls)
        kinds = {p: getattr(griffe.ParameterKind, p.name.lower()) for p in
                 (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)}
        parameters = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
        for name, p in found.__signature__.parameters.items():
            default = None if p.default is p.empty else repr(p.default)
            parameters.append(griffe.Parameter(name, kind=kinds[p.kind], default=default))
        cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(*parameters)))
