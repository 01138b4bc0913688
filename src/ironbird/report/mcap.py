"""Logs as MCAP files with ROS 2 messages, for Foxglove, rosbag2 and PlotJuggler.

Standard messages in the axes of REP 103 (world east-north-up, body forward-left-up): `/odom` (nav_msgs/Odometry, the
truth), `/tf`, `/imu` (sensor_msgs/Imu) and `/fix` (sensor_msgs/NavSatFix) after fault injection. In addition each block
is a topic (`/ironbird/rotor/1/motor`) with its own message type, in Ironbird's axes and SI; its units are in the
message definition. CDR as rosbag2 writes it. Times are those of the simulation, from zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RunError
from ironbird.files.whole import replacing
from ironbird.rotations import from_matrix, matrix
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at

HEADER = "std_msgs/Header header\n"
LINE = "=" * 80
_TIME = "int32 sec\nuint32 nanosec\n"
_PARTS = {
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "builtin_interfaces/Time": _TIME,
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance\n",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance\n",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n",
    "geometry_msgs/TransformStamped": HEADER + "string child_frame_id\ngeometry_msgs/Transform transform\n",
    "sensor_msgs/NavSatStatus": "int8 status\nuint16 service\n",
    "nav_msgs/Odometry": HEADER
    + "string child_frame_id\ngeometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist\n",
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms\n",
    "sensor_msgs/Imu": HEADER
    + "geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
    + "geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n"
    + "geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n",
    "sensor_msgs/NavSatFix": HEADER
    + "sensor_msgs/NavSatStatus status\nfloat64 latitude\nfloat64 longitude\nfloat64 altitude\n"
    + "float64[9] position_covariance\nuint8 position_covariance_type\n",
    "sensor_msgs/Image": HEADER
    + "uint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n",
    "sensor_msgs/PointField": "string name\nuint32 offset\nuint8 datatype\nuint32 count\n",
    "sensor_msgs/PointCloud2": HEADER
    + "uint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\nuint32 point_step\n"
    + "uint32 row_step\nuint8[] data\nbool is_dense\n",
    "sensor_msgs/LaserScan": HEADER
    + "float32 angle_min\nfloat32 angle_max\nfloat32 angle_increment\nfloat32 time_increment\nfloat32 scan_time\n"
    + "float32 range_min\nfloat32 range_max\nfloat32[] ranges\nfloat32[] intensities\n",
    "sensor_msgs/Range": HEADER
    + "uint8 radiation_type\nfloat32 field_of_view\nfloat32 min_range\nfloat32 max_range\nfloat32 range\n",
}  # of the ROS 2 packages common_interfaces and geometry2
NED_ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FRD_FLU = np.diag([1.0, -1.0, -1.0])

Message = tuple[str, str, dict[str, Any]]  # topic, type, content


def definition(kind: str, own: str | None = None) -> str:
    """A message definition with those of all its parts, as rosbag2 stores it."""
    text = _PARTS[kind] if own is None else own
    texts, todo = [text], [text]
    known: set[str] = set()
    while todo:
        for line in todo.pop().splitlines():
            part = line.split()[0].removesuffix("[]")
            if part in _PARTS and part not in known:
                known.add(part)
                texts.append(f"{LINE}\nMSG: {part}\n{_PARTS[part]}")
                todo.append(_PARTS[part])
    return "".join(texts)


def write_mcap(log: Log, path: Path, lane: int = 0) -> None:
    """Write one lane of a log as an MCAP file."""
    blocks = _Blocks(log, lane)
    standard = _Standard(log, lane)

    def rows() -> Iterator[tuple[int, int, Message]]:
        for row, time_s in enumerate(log.time(lane)):
            time_ns = round(float(time_s) * 1e9)
            for message in (*standard.messages(row, time_ns), *blocks.messages(row, time_ns)):
                yield row, time_ns, message

    write_messages(path, rows(), blocks.definitions)


def write_messages(path: Path, rows: Iterable[tuple[int, int, Message]], own: Mapping[str, str]) -> None:
    """Write messages (number, time in ns, message) as an MCAP file; `own` defines types that ROS 2 does not have."""
    try:
        from mcap_ros2.writer import Writer
    except ImportError:
        raise RunError("writing MCAP needs the extra 'logs': pip install 'ironbird[logs]'") from None
    with replacing(Path(path)) as part, part.open("wb") as file:
        writer: Any = Writer(file)
        schemas: dict[str, Any] = {}
        for number, time_ns, (topic, kind, content) in rows:
            if kind not in schemas:
                package, name = kind.split("/")
                schemas[kind] = writer.register_msgdef(f"{package}/msg/{name}", definition(kind, own.get(kind)))
            writer.write_message(topic, schemas[kind], content, log_time=time_ns, publish_time=time_ns, sequence=number)
        writer.finish()


def header(time_ns: int, frame: str) -> dict[str, Any]:
    return {"stamp": {"sec": time_ns // 10**9, "nanosec": time_ns % 10**9}, "frame_id": frame}


def _xyz(vector: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", (float(v) for v in vector), strict=True))


def _turn(q_NB: np.ndarray) -> dict[str, float]:
    """The quaternion q_NB as attitude of forward-left-up in east-north-up."""
    w, x, y, z = from_matrix(NED_ENU @ matrix(q_NB) @ FRD_FLU)
    return {"x": float(x), "y": float(y), "z": float(z), "w": float(w)}


class _Blocks:
    """Each block as a topic with its own message type."""

    def __init__(self, log: Log, lane: int) -> None:
        self.definitions: dict[str, str] = {}
        self._columns: dict[str, tuple[str, dict[str, np.ndarray]]] = {}
        blocks: dict[str, dict[str, np.ndarray]] = {}
        texts: dict[str, str] = {}
        for signal, declared in log.signals.items():
            block, _, name = signal.rpartition(".")
            field = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "value"
            field = field if field[0].isalpha() else f"v_{field}"
            while field in blocks.get(block, {}):
                field += "_2"
            values = log.lane(signal, lane).reshape(log.rows(lane), declared.size)
            blocks.setdefault(block, {})[field] = values
            kind = "float64" if declared.size == 1 else f"float64[{declared.size}]"
            frame = f", frame {declared.frame}" if declared.frame else ""
            texts[block] = texts.get(block, HEADER) + f"{kind} {field}  # {signal} [{declared.unit}]{frame}\n"
        for block, fields in blocks.items():
            kind = "ironbird_msgs/" + "".join(w.capitalize() for w in re.split(r"[^A-Za-z0-9]+", block) if w)
            while kind in self.definitions:
                kind += "X"
            self.definitions[kind] = texts[block]
            self._columns[f"/ironbird/{block}"] = (kind, fields)

    def messages(self, row: int, time_ns: int) -> Iterator[Message]:
        """Messages of all blocks at one log row."""
        for topic, (kind, fields) in self._columns.items():
            content: dict[str, Any] = {"header": header(time_ns, "")}
            for name, values in fields.items():
                content[name] = float(values[row, 0]) if values.shape[1] == 1 else [float(v) for v in values[row]]
            yield topic, kind, content


class _Standard:
    """Messages of standard ROS types."""

    def __init__(self, log: Log, lane: int) -> None:
        def get(path: str) -> np.ndarray | None:
            return log.lane(path, lane) if path in log else None

        self.place, self.speed = get(at.BODY.position), get(at.BODY.velocity_body)
        self.attitude, self.rates = get(at.BODY.quaternion), get(at.BODY.rates)
        imu = at.imu(1)
        self.accel, self.gyro = get(imu.accel.value), get(imu.gyro.value)
        self.fix = [get(f"gnss/1/chip.{name}") for name in ("latitude", "longitude", "height", "fix_type")]

    def messages(self, row: int, time_ns: int) -> Iterator[Message]:
        """Standard messages at one log row, as far as the log has their signals."""
        if self.place is not None and self.attitude is not None and self.speed is not None and self.rates is not None:
            yield from motion_messages(time_ns, self.place[row], self.attitude[row], self.speed[row], self.rates[row])
        if self.accel is not None and self.gyro is not None:
            yield imu_message(time_ns, self.gyro[row], self.accel[row])
        latitude, longitude, height, kind = self.fix
        if latitude is not None and longitude is not None and height is not None:
            good = kind is None or kind[row] >= 2
            place = float(np.degrees(latitude[row])), float(np.degrees(longitude[row])), float(height[row])
            yield fix_message(time_ns, place, bool(good))


def motion_messages(
    time_ns: int, place_N: np.ndarray, q_NB: np.ndarray, velocity_B: np.ndarray, rates_B: np.ndarray
) -> Iterator[Message]:
    """`/odom` and `/tf` of one instant; all arguments in Ironbird's axes."""
    place, turn = _xyz(NED_ENU @ place_N), _turn(q_NB)
    motion = {"linear": _xyz(FRD_FLU @ velocity_B), "angular": _xyz(FRD_FLU @ rates_B)}
    yield "/odom", "nav_msgs/Odometry", {
        "header": header(time_ns, "map"), "child_frame_id": "base_link",
        "pose": {"pose": {"position": place, "orientation": turn}, "covariance": [0.0] * 36},
        "twist": {"twist": motion, "covariance": [0.0] * 36},
    }  # fmt: skip
    yield "/tf", "tf2_msgs/TFMessage", {
        "transforms": [
            {
                "header": header(time_ns, "map"), "child_frame_id": "base_link",
                "transform": {"translation": place, "rotation": turn},
            }
        ]
    }  # fmt: skip


def imu_message(time_ns: int, rates_B: np.ndarray, acceleration_B: np.ndarray) -> Message:
    """`/imu` of one instant, in rad/s and m/s^2 of Ironbird's axes."""
    return "/imu", "sensor_msgs/Imu", {
        "header": header(time_ns, "base_link"), "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        "orientation_covariance": [-1.0, *[0.0] * 8],  # the sensor has none
        "angular_velocity": _xyz(FRD_FLU @ rates_B), "angular_velocity_covariance": [0.0] * 9,
        "linear_acceleration": _xyz(FRD_FLU @ acceleration_B), "linear_acceleration_covariance": [0.0] * 9,
    }  # fmt: skip


def fix_message(time_ns: int, place: tuple[float, float, float], good: bool) -> Message:
    """`/fix` of one instant: latitude and longitude in degrees, height in m."""
    return "/fix", "sensor_msgs/NavSatFix", {
        "header": header(time_ns, "base_link"), "status": {"status": 0 if good else -1, "service": 1},
        "latitude": place[0], "longitude": place[1], "altitude": place[2],
        "position_covariance": [0.0] * 9, "position_covariance_type": 0,
    }  # fmt: skip
