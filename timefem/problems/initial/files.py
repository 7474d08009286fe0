"""Initial-value problems in model files."""

from ..common.file_format import FileFormat

FILES = FileFormat(make=lambda model: model.start, tables=("sensitivity",))
