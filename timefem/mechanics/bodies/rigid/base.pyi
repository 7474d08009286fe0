# made by tools/stubs.py: change the module

import casadi as ca
from abc import abstractmethod
from timefem.types import Floats, Matrix, Number, Vector
from typing import Literal
import numpy as np
from ...declared import Choice, Field
from ...part import Body
from ...shapes import Piece
from ..states import Pose


SAME: float


class Inertia(Field):
    kind_of_value: str
    schema_type: str
    given_as: str
    kept_as: str


class Lengths(Vector):
    ...


class Look(Choice):
    ...


class RigidBodyBase(Body):
    mass: float
    inertia: np.ndarray
    size: np.ndarray | None
    shape: str
    has_position: bool
    has_orientation: bool
    n_increments: int
    spin_per_momentum: float
    def null_space(self, q: ca.SX) -> ca.SX: ...
    @abstractmethod
    def rotation_rate(self, rotation: ca.SX) -> ca.SX: ...
    def drawn_pieces(self, q: np.ndarray, p: np.ndarray) -> list[Piece]: ...
    @property
    def drawn_size(self) -> np.ndarray: ...
    @abstractmethod
    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]: ...
    @abstractmethod
    def angular_velocity_map(self, q: ca.SX) -> ca.SX: ...
    @abstractmethod
    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]: ...
    @abstractmethod
    def rotation_matrix(self, q: Floats) -> np.ndarray: ...
    @abstractmethod
    def orientation(self, q: np.ndarray) -> np.ndarray: ...
    @abstractmethod
    def turning(self, q: np.ndarray) -> np.ndarray: ...
    @abstractmethod
    def spin_matrix(self, omega: np.ndarray) -> np.ndarray: ...
    @abstractmethod
    def spin(self, q: Floats, p: Floats) -> np.ndarray: ...
    def position(self, q: Floats) -> np.ndarray: ...
    def velocity(self, q: Floats, p: Floats) -> np.ndarray: ...
    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray: ...
    def angular_momentum(self, q: Floats, p: Floats) -> np.ndarray: ...
    def largest_rate(self, p: np.ndarray) -> float: ...
    def angular_velocity(self, q: Floats, p: Floats, frame: str = 'body') -> np.ndarray: ...
    def __init__(self, mass: Number, inertia: Vector | Matrix, size: Vector | None = None,
                 shape: Literal['box', 'cylinder', 'ellipsoid'] = 'box', name: str | None = None) -> None: ...
