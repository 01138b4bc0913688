"""Sensors that see the world: one file each, one line here."""

from __future__ import annotations

from ironbird.world.sensors.camera import Camera
from ironbird.world.sensors.depth_camera import DepthCamera
from ironbird.world.sensors.flow_camera import FlowCamera
from ironbird.world.sensors.multibeam_sonar import MultibeamSonar
from ironbird.world.sensors.odometry import Odometry
from ironbird.world.sensors.optical_flow import OpticalFlow
from ironbird.world.sensors.radar_altimeter import RadarAltimeter
from ironbird.world.sensors.rangefinder import Rangefinder
from ironbird.world.sensors.ring import Ring
from ironbird.world.sensors.scanning_lidar import ScanningLidar
from ironbird.world.sensors.semantic_camera import SemanticCamera
from ironbird.world.sensors.sensor import Sensor
from ironbird.world.sensors.solid_state_lidar import SolidStateLidar

SENSORS: dict[str, type[Sensor]] = {
    "rangefinder": Rangefinder,
    "ring": Ring,
    "radar_altimeter": RadarAltimeter,
    "multibeam_sonar": MultibeamSonar,
    "scanning_lidar": ScanningLidar,
    "solid_state_lidar": SolidStateLidar,
    "depth_camera": DepthCamera,
    "camera": Camera,
    "semantic_camera": SemanticCamera,
    "flow_camera": FlowCamera,
    "optical_flow": OpticalFlow,
    "odometry": Odometry,
}
