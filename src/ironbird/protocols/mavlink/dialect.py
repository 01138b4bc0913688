"""Messages of MAVLink that the links speak: their numbers, layouts and checksum seeds [MAVLink2].

Fields stand in the order of the wire: by size, extensions last; arrays are laid out. All are of the dialect `common`
but EKF_STATUS_REPORT, which is ArduPilot's, and what PX4 adds (`BOARD_EXTRAS`).
"""

from __future__ import annotations

import struct
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STAGE = "IBBH"  # before a staged payload: id, length, CRC_EXTRA, spare
# CRC_EXTRA of the messages of the dialect `common` by their id
CRC_EXTRA = {
    0: 50, 1: 124, 2: 137, 4: 237, 5: 217, 6: 104, 7: 119, 11: 89, 20: 214, 21: 159, 22: 220, 23: 168, 24: 24,
    25: 23, 26: 170, 27: 144, 28: 67, 29: 115, 30: 39, 31: 246, 32: 185, 33: 104, 34: 237, 35: 244, 36: 222, 37: 212,
    38: 9, 39: 254, 40: 230, 41: 28, 42: 28, 43: 132, 44: 221, 45: 232, 46: 11, 47: 153, 48: 41, 49: 39, 50: 78,
    51: 196, 54: 15, 55: 3, 61: 167, 62: 183, 63: 119, 64: 191, 65: 118, 66: 148, 67: 21, 69: 243, 70: 124, 73: 38,
    74: 20, 75: 158, 76: 152, 77: 143, 81: 106, 82: 49, 83: 22, 84: 143, 85: 140, 86: 5, 87: 150, 89: 231, 90: 183,
    91: 63, 92: 54, 93: 47, 100: 175, 101: 102, 102: 158, 103: 208, 104: 56, 105: 93, 106: 138, 107: 108, 108: 32,
    109: 185, 110: 84, 111: 34, 112: 174, 113: 124, 114: 237, 115: 4, 116: 76, 117: 128, 118: 56, 119: 116, 120: 134,
    121: 237, 122: 203, 123: 250, 124: 87, 125: 203, 126: 220, 127: 25, 128: 226, 129: 46, 130: 29, 131: 223,
    132: 85, 133: 6, 134: 229, 135: 203, 136: 1, 137: 195, 138: 109, 139: 168, 140: 181, 141: 47, 142: 72, 143: 131,
    144: 127, 146: 103, 147: 154, 148: 178, 149: 200, 162: 189, 192: 36, 225: 208, 230: 163, 231: 105, 232: 151,
    233: 35, 234: 150, 235: 179, 241: 90, 242: 104, 243: 85, 244: 95, 245: 130, 246: 184, 247: 81, 248: 8, 249: 204,
    250: 49, 251: 170, 252: 44, 253: 83, 254: 46, 256: 71, 257: 131, 258: 187, 259: 92, 260: 146, 261: 179, 262: 12,
    263: 133, 264: 49, 265: 26, 266: 193, 267: 35, 268: 14, 269: 109, 270: 59, 271: 22, 275: 126, 276: 18, 277: 62,
    280: 70, 281: 48, 282: 123, 283: 74, 284: 99, 285: 137, 286: 210, 287: 1, 288: 20, 295: 234, 296: 158, 299: 19,
    301: 243, 310: 28, 311: 95, 320: 243, 321: 88, 322: 243, 323: 78, 324: 132, 330: 23, 331: 91, 332: 236, 333: 231,
    335: 225, 339: 199, 340: 99, 345: 209, 350: 232, 360: 11, 370: 75, 373: 117, 375: 251, 376: 199, 385: 147,
    386: 132, 387: 4, 388: 8, 390: 156, 9000: 113, 9005: 117, 12900: 114, 12901: 254, 12902: 140, 12903: 249,
    12904: 77, 12905: 49, 12915: 94, 12918: 139, 12919: 7, 12920: 20,
}  # fmt: skip
# CRC_EXTRA of messages that PX4 boards send beyond the dialect of the links: events, modes, state of the link [PX4]
BOARD_EXTRAS: Mapping[int, int] = {
    8: 117, 80: 14, 290: 251, 291: 10, 300: 217, 334: 72, 336: 245, 371: 10, 372: 26, 380: 232, 395: 0, 396: 50,
    397: 182, 400: 110, 401: 183, 410: 160, 411: 106, 412: 33, 413: 77, 435: 134, 436: 193, 437: 30, 440: 66,
    441: 169,
}  # fmt: skip
ARDUPILOT_EXTRAS: Mapping[int, int] = {193: 71}  # EKF_STATUS_REPORT


@dataclass(frozen=True)
class Message:
    """A message's place in the dialect and the layout of its payload; names of its fields where they are used."""

    name: str
    id: int
    layout: str
    names: str = ""
    payload: struct.Struct = field(init=False, compare=False)
    staged: struct.Struct = field(init=False, compare=False)
    head: tuple[int, int, int, int] = field(init=False, compare=False)
    record: Any = field(init=False, compare=False)  # a named tuple of the fields; what is not given is zero

    def __post_init__(self) -> None:
        payload = struct.Struct("<" + self.layout)
        zeros = payload.unpack(bytes(payload.size))
        extra = {**CRC_EXTRA, **BOARD_EXTRAS, **ARDUPILOT_EXTRAS}[self.id]
        object.__setattr__(self, "payload", payload)
        object.__setattr__(self, "staged", struct.Struct("<" + STAGE + self.layout))
        object.__setattr__(self, "head", (self.id, payload.size, extra, 0))
        named = namedtuple(self.name, self.names, defaults=zeros) if self.names else None
        object.__setattr__(self, "record", named)

    def unpack(self, payload: bytes) -> tuple[Any, ...]:
        """Fields in the order of the wire; what was cut is zero, what a newer dialect adds is left out."""
        size = self.payload.size
        if len(payload) < size:
            payload = payload + bytes(size - len(payload))
        return self.payload.unpack_from(payload)

    def read(self, payload: bytes) -> Any:
        """The same by name."""
        return self.record._make(self.unpack(payload))


HEARTBEAT = Message("HEARTBEAT", 0, "I5B", "custom_mode type autopilot base_mode system_status mavlink_version")
SYS_STATUS = Message(
    "SYS_STATUS",
    1,
    "3I2Hh6Hb3I",
    "onboard_control_sensors_present onboard_control_sensors_enabled onboard_control_sensors_health load "
    "voltage_battery current_battery drop_rate_comm errors_comm errors_count1 errors_count2 errors_count3 "
    "errors_count4 battery_remaining onboard_control_sensors_present_extended "
    "onboard_control_sensors_enabled_extended onboard_control_sensors_health_extended",
)
SYSTEM_TIME = Message("SYSTEM_TIME", 2, "QI", "time_unix_usec time_boot_ms")
PING = Message("PING", 4, "QI2B", "time_usec seq target_system target_component")
SET_MODE = Message("SET_MODE", 11, "I2B", "custom_mode target_system base_mode")
PARAM_REQUEST_READ = Message("PARAM_REQUEST_READ", 20, "h2B16s", "param_index target_system target_component param_id")
PARAM_REQUEST_LIST = Message("PARAM_REQUEST_LIST", 21, "2B", "target_system target_component")
PARAM_VALUE = Message("PARAM_VALUE", 22, "f2H16sB", "param_value param_count param_index param_id param_type")
PARAM_SET = Message("PARAM_SET", 23, "f2B16sB", "param_value target_system target_component param_id param_type")
GPS_RAW_INT = Message(
    "GPS_RAW_INT",
    24,
    "Q3i4H2Bi4IH",
    "time_usec lat lon alt eph epv vel cog fix_type satellites_visible alt_ellipsoid h_acc v_acc vel_acc hdg_acc yaw",
)
ATTITUDE = Message("ATTITUDE", 30, "I6f", "time_boot_ms roll pitch yaw rollspeed pitchspeed yawspeed")
ATTITUDE_QUATERNION = Message(
    "ATTITUDE_QUATERNION",
    31,
    "I11f",
    "time_boot_ms q1 q2 q3 q4 rollspeed pitchspeed yawspeed repr_offset_q0 repr_offset_q1 repr_offset_q2 "
    "repr_offset_q3",
)
LOCAL_POSITION_NED = Message("LOCAL_POSITION_NED", 32, "I6f", "time_boot_ms x y z vx vy vz")
GLOBAL_POSITION_INT = Message("GLOBAL_POSITION_INT", 33, "I4i3hH", "time_boot_ms lat lon alt relative_alt vx vy vz hdg")
SERVO_OUTPUT_RAW = Message("SERVO_OUTPUT_RAW", 36, "I8HB8H")
MISSION_REQUEST_PARTIAL_LIST = Message(
    "MISSION_REQUEST_PARTIAL_LIST", 37, "2h3B", "start_index end_index target_system target_component mission_type"
)
MISSION_WRITE_PARTIAL_LIST = Message(
    "MISSION_WRITE_PARTIAL_LIST", 38, "2h3B", "start_index end_index target_system target_component mission_type"
)
MISSION_ITEM = Message(
    "MISSION_ITEM",
    39,
    "7f2H6B",
    "param1 param2 param3 param4 x y z seq command target_system target_component frame current autocontinue "
    "mission_type",
)
MISSION_REQUEST = Message("MISSION_REQUEST", 40, "H3B", "seq target_system target_component mission_type")
MISSION_SET_CURRENT = Message("MISSION_SET_CURRENT", 41, "H2B", "seq target_system target_component")
MISSION_CURRENT = Message("MISSION_CURRENT", 42, "2H2B", "seq total mission_state mission_mode")
MISSION_REQUEST_LIST = Message("MISSION_REQUEST_LIST", 43, "3B", "target_system target_component mission_type")
MISSION_COUNT = Message("MISSION_COUNT", 44, "H3B", "count target_system target_component mission_type")
MISSION_CLEAR_ALL = Message("MISSION_CLEAR_ALL", 45, "3B", "target_system target_component mission_type")
MISSION_ITEM_REACHED = Message("MISSION_ITEM_REACHED", 46, "H", "seq")
MISSION_ACK = Message("MISSION_ACK", 47, "4B", "target_system target_component type mission_type")
SET_GPS_GLOBAL_ORIGIN = Message(
    "SET_GPS_GLOBAL_ORIGIN", 48, "3iBQ", "latitude longitude altitude target_system time_usec"
)
GPS_GLOBAL_ORIGIN = Message("GPS_GLOBAL_ORIGIN", 49, "3iQ", "latitude longitude altitude time_usec")
MISSION_REQUEST_INT = Message("MISSION_REQUEST_INT", 51, "H3B", "seq target_system target_component mission_type")
RC_CHANNELS = Message("RC_CHANNELS", 65, "I18H2B")
MANUAL_CONTROL = Message(
    "MANUAL_CONTROL",
    69,
    "4hHBHB8h",
    "x y z r buttons target buttons2 enabled_extensions s t aux1 aux2 aux3 aux4 aux5 aux6",
)
RC_CHANNELS_OVERRIDE = Message(
    "RC_CHANNELS_OVERRIDE",
    70,
    "8H2B10H",
    "chan1_raw chan2_raw chan3_raw chan4_raw chan5_raw chan6_raw chan7_raw chan8_raw target_system target_component "
    "chan9_raw chan10_raw chan11_raw chan12_raw chan13_raw chan14_raw chan15_raw chan16_raw chan17_raw chan18_raw",
)
MISSION_ITEM_INT = Message(
    "MISSION_ITEM_INT",
    73,
    "4f2if2H6B",
    "param1 param2 param3 param4 x y z seq command target_system target_component frame current autocontinue "
    "mission_type",
)
VFR_HUD = Message("VFR_HUD", 74, "4fhH", "airspeed groundspeed alt climb heading throttle")
COMMAND_INT = Message(
    "COMMAND_INT",
    75,
    "4f2ifH5B",
    "param1 param2 param3 param4 x y z command target_system target_component frame current autocontinue",
)
COMMAND_LONG = Message(
    "COMMAND_LONG",
    76,
    "7fH3B",
    "param1 param2 param3 param4 param5 param6 param7 command target_system target_component confirmation",
)
COMMAND_ACK = Message(
    "COMMAND_ACK", 77, "H2Bi2B", "command result progress result_param2 target_system target_component"
)
SET_ATTITUDE_TARGET = Message(
    "SET_ATTITUDE_TARGET",
    82,
    "I8f3B",
    "time_boot_ms q0 q1 q2 q3 body_roll_rate body_pitch_rate body_yaw_rate thrust target_system target_component "
    "type_mask",
)
ATTITUDE_TARGET = Message(
    "ATTITUDE_TARGET",
    83,
    "I8fB",
    "time_boot_ms q0 q1 q2 q3 body_roll_rate body_pitch_rate body_yaw_rate thrust type_mask",
)
SET_POSITION_TARGET_LOCAL_NED = Message(
    "SET_POSITION_TARGET_LOCAL_NED",
    84,
    "I11fH3B",
    "time_boot_ms x y z vx vy vz afx afy afz yaw yaw_rate type_mask target_system target_component coordinate_frame",
)
POSITION_TARGET_LOCAL_NED = Message(
    "POSITION_TARGET_LOCAL_NED",
    85,
    "I11fHB",
    "time_boot_ms x y z vx vy vz afx afy afz yaw yaw_rate type_mask coordinate_frame",
)
SET_POSITION_TARGET_GLOBAL_INT = Message(
    "SET_POSITION_TARGET_GLOBAL_INT",
    86,
    "I2i9fH3B",
    "time_boot_ms lat_int lon_int alt vx vy vz afx afy afz yaw yaw_rate type_mask target_system target_component "
    "coordinate_frame",
)
POSITION_TARGET_GLOBAL_INT = Message(
    "POSITION_TARGET_GLOBAL_INT",
    87,
    "I2i9fHB",
    "time_boot_ms lat_int lon_int alt vx vy vz afx afy afz yaw yaw_rate type_mask coordinate_frame",
)
HIL_CONTROLS = Message("HIL_CONTROLS", 91, "Q8f2B")  # what boards gave before HIL_ACTUATOR_CONTROLS
HIL_ACTUATOR_CONTROLS = Message("HIL_ACTUATOR_CONTROLS", 93, "2Q16fB")
OPTICAL_FLOW = Message(
    "OPTICAL_FLOW",
    100,
    "Q3f2h2B2f",
    "time_usec flow_comp_m_x flow_comp_m_y ground_distance flow_x flow_y sensor_id quality flow_rate_x flow_rate_y",
)
HIGHRES_IMU = Message(
    "HIGHRES_IMU",
    105,
    "Q13fHB",
    "time_usec xacc yacc zacc xgyro ygyro zgyro xmag ymag zmag abs_pressure diff_pressure pressure_alt temperature "
    "fields_updated id",
)
OPTICAL_FLOW_RAD = Message(
    "OPTICAL_FLOW_RAD",
    106,
    "QI5fIfh2B",
    "time_usec integration_time_us integrated_x integrated_y integrated_xgyro integrated_ygyro integrated_zgyro "
    "time_delta_distance_us distance temperature sensor_id quality",
)
HIL_SENSOR = Message("HIL_SENSOR", 107, "Q13fIB")
FILE_TRANSFER_PROTOCOL = Message("FILE_TRANSFER_PROTOCOL", 110, "254B")
TIMESYNC = Message("TIMESYNC", 111, "2q", "tc1 ts1")
HIL_GPS = Message("HIL_GPS", 113, "Q3i3H3hH3BH")
HIL_OPTICAL_FLOW = Message("HIL_OPTICAL_FLOW", 114, "QI5fIfh2B")
HIL_STATE_QUATERNION = Message("HIL_STATE_QUATERNION", 115, "Q7f3i3h2H3h")
LOG_REQUEST_LIST = Message("LOG_REQUEST_LIST", 117, "2H2B", "start end target_system target_component")
LOG_ENTRY = Message("LOG_ENTRY", 118, "2I3H", "time_utc size id num_logs last_log_num")
LOG_REQUEST_DATA = Message("LOG_REQUEST_DATA", 119, "2IH2B", "ofs count id target_system target_component")
LOG_DATA = Message("LOG_DATA", 120, "IH91B")
LOG_ERASE = Message("LOG_ERASE", 121, "2B", "target_system target_component")
DISTANCE_SENSOR = Message("DISTANCE_SENSOR", 132, "I3H4B6fB")
ALTITUDE = Message(
    "ALTITUDE",
    141,
    "Q6f",
    "time_usec altitude_monotonic altitude_amsl altitude_local altitude_relative altitude_terrain bottom_clearance",
)
BATTERY_STATUS = Message("BATTERY_STATUS", 147, "2ih10Hh3BbiB4HBI")
AUTOPILOT_VERSION = Message("AUTOPILOT_VERSION", 148, "2Q4I2H42B")
EKF_STATUS_REPORT = Message(
    "EKF_STATUS_REPORT",
    193,
    "5fHf",
    "velocity_variance pos_horiz_variance pos_vert_variance compass_variance terrain_alt_variance flags "
    "airspeed_variance",
)
ESTIMATOR_STATUS = Message(
    "ESTIMATOR_STATUS",
    230,
    "Q8fH",
    "time_usec vel_ratio pos_horiz_ratio pos_vert_ratio mag_ratio hagl_ratio tas_ratio pos_horiz_accuracy "
    "pos_vert_accuracy flags",
)
VIBRATION = Message(
    "VIBRATION",
    241,
    "Q3f3I",
    "time_usec vibration_x vibration_y vibration_z clipping_0 clipping_1 clipping_2",
)
HOME_POSITION = Message(
    "HOME_POSITION",
    242,
    "3i10fQ",
    "latitude longitude altitude x y z q0 q1 q2 q3 approach_x approach_y approach_z time_usec",
)
SET_HOME_POSITION = Message(
    "SET_HOME_POSITION",
    243,
    "3i10fBQ",
    "latitude longitude altitude x y z q0 q1 q2 q3 approach_x approach_y approach_z target_system time_usec",
)
MESSAGE_INTERVAL = Message("MESSAGE_INTERVAL", 244, "iH", "interval_us message_id")
EXTENDED_SYS_STATE = Message("EXTENDED_SYS_STATE", 245, "2B", "vtol_state landed_state")
ADSB_VEHICLE = Message(
    "ADSB_VEHICLE",
    246,
    "I3i2Hh2HB9s2B",
    "ICAO_address lat lon altitude heading hor_velocity ver_velocity flags squawk altitude_type callsign emitter_type "
    "tslc",
)
STATUSTEXT = Message("STATUSTEXT", 253, "B50sHB", "severity text id chunk_seq")
PROTOCOL_VERSION = Message("PROTOCOL_VERSION", 300, "3H16B")
OBSTACLE_DISTANCE = Message("OBSTACLE_DISTANCE", 330, "Q74H2B2fB")
ODOMETRY = Message("ODOMETRY", 331, "Q55f4Bb")
PARAM_ERROR = Message("PARAM_ERROR", 345, "h2B16sB", "param_index target_system target_component param_id error")
DEBUG_FLOAT_ARRAY = Message("DEBUG_FLOAT_ARRAY", 350, "QH10s58f")
AVAILABLE_MODES = Message(
    "AVAILABLE_MODES", 435, "2I3B35s", "custom_mode properties number_modes mode_index standard_mode mode_name"
)
CURRENT_MODE = Message("CURRENT_MODE", 436, "2IB", "custom_mode intended_custom_mode standard_mode")
MESSAGES = {message.id: message for message in tuple(globals().values()) if isinstance(message, Message)}
