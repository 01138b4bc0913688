"""Vehicles as other programs write them, for tests: SDF, URDF, ArduPilot's frame, PX4's airframe."""

from __future__ import annotations

MOTOR = """
<plugin name='{name}' filename='libgazebo_motor_model.so'>
  <jointName>rotor_{n}_joint</jointName><linkName>rotor_{n}</linkName><turningDirection>{spin}</turningDirection>
  <timeConstantUp>0.02</timeConstantUp><timeConstantDown>0.04</timeConstantDown><maxRotVelocity>1000</maxRotVelocity>
  <motorConstant>6e-06</motorConstant><momentConstant>0.02</momentConstant><motorNumber>{n}</motorNumber>
  <rotorDragCoefficient>1e-4</rotorDragCoefficient>
</plugin>"""
ROTORS = ((0.2, -0.2, "ccw"), (-0.2, 0.2, "ccw"), (0.2, 0.2, "cw"), (-0.2, -0.2, "cw"))  # x forward, y left
SDF = (
    """<sdf version='1.6'><model name='Test Quad'>
<link name='base'><inertial><pose>0 0 0.01 0 0 0</pose><mass>1.0</mass><inertia><ixx>0.01</ixx><iyy>0.02</iyy>
<izz>0.03</izz><ixz>0.001</ixz></inertia></inertial>
<collision name='c'><geometry><box><size>0.3 0.2 0.1</size></box></geometry></collision>
<sensor name='s' type='imu'/></link>"""
    + "".join(
        f"<link name='rotor_{n}'><pose>{x} {y} 0.05 0 0 0</pose><inertial><mass>0.01</mass></inertial></link>"
        for n, (x, y, _) in enumerate(ROTORS)
    )
    + "".join(MOTOR.format(n=n, name=f"m{n}", spin=spin) for n, (_, _, spin) in enumerate(ROTORS))
    + """<plugin name='x' filename='libstrange_thing.so'/>
<plugin name='mavlink_interface' filename='libgazebo_mavlink_interface.so'><control_channels>"""
    + "".join(
        f"<channel name='r{n}'><input_index>{n}</input_index><input_offset>0</input_offset>"
        "<input_scaling>900</input_scaling><zero_position_armed>100</zero_position_armed></channel>"
        for n in range(4)
    )
    + "</control_channels></plugin></model></sdf>"
)
FRAME = """# a frame
{ "mass" : 4.0, # kg
  "diagonal_size" : 0.8, "refSpd" : 10.0, "refAngle" : 20.0, "maxVoltage" : 25.2, "battCapacityAh" : 10,
  "refBatRes" : 0.01,
  "propExpo" : 0.0, "hoverThrOut" : 0.25, "disc_area" : 0.5, "num_motors" : 4, "pwmMin" : 1000 }
"""
AIRFRAME = "".join(
    f"param set-default CA_ROTOR{n}_PX {x}\nparam set-default CA_ROTOR{n}_PY {y}\n"
    f"param set-default CA_ROTOR{n}_KM {k}\n"
    for n, (x, y, k) in enumerate(
        [(0.17, 0.17, 0.05), (-0.17, -0.17, 0.05), (0.17, -0.17, -0.05), (-0.17, 0.17, -0.05)]
    )
)
AIRFRAME_SCRIPT = (
    "param set-default CA_AIRFRAME 0\nparam set-default CA_ROTOR_COUNT 4\nparam set-default MPC_THR_HOVER 0.6\n"
    "param set-default SIM_GZ_EC_MIN1 150\nparam set-default SIM_GZ_EC_MAX1 1000\nset MAV_TYPE ${X}\n" + AIRFRAME
)


def urdf() -> str:
    """The vehicle of `SDF` as a tree of joints."""
    links = """<link name='base'><inertial><origin xyz='0 0 0.01'/><mass value='1.0'/>
<inertia ixx='0.01' iyy='0.02' izz='0.03' ixz='0.001'/></inertial></link><link name='arm'/>
<joint name='a' type='fixed'><parent link='base'/><child link='arm'/>
<origin xyz='0 0 0.05' rpy='0 0 1.5707963267948966'/></joint>"""
    for n, (x, y, _) in enumerate(ROTORS):  # seen from the arm, which is turned to the left by a quarter
        links += (
            f"<link name='rotor_{n}'><inertial><mass value='0.01'/></inertial></link><joint name='rotor_{n}_joint' "
        )
        links += f"type='continuous'><parent link='arm'/><child link='rotor_{n}'/><origin xyz='{y} {-x} 0'/></joint>"
    plugins = "".join(MOTOR.format(n=n, name=f"m{n}", spin=spin) for n, (_, _, spin) in enumerate(ROTORS))
    return f"<robot name='test_quad'>{links}<gazebo>{plugins}</gazebo></robot>"
