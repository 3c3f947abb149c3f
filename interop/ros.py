"""Peers with the names of ROS 2: a node of rclpy, or a program on Cyclone DDS that uses its names.

    ros.py talker|listener              nodes /plant/talker and /plant/listener, by rclpy
    ros.py cyclone-ask TOPIC            asks the participant of a topic for its type, prints members
    ros.py cyclone-talker HASH          writes rt/plant/chatter and rt/plant/pose, with this hash
"""
import sys
import time


def of_rclpy(role):
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from std_msgs.msg import String
    from std_srvs.srv import SetBool

    rclpy.init()
    node = Node(role, namespace="/plant")
    if role == "talker":
        chatter = node.create_publisher(String, "chatter", 10)
        node.create_service(SetBool, "stop", lambda _, answer: answer)
        loose = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_publisher(String, "level", loose)
        numbers = iter(range(1, 1 << 30))

        def say():
            chatter.publish(String(data=f"hello {next(numbers)}"))

        node.create_timer(0.1, say)
    else:
        def heard(message):
            print("heard", message.data, flush=True)

        node.create_subscription(String, "chatter", heard, 10)
        node.create_client(SetBool, "stop")
        node.create_subscription(String, "level", lambda _: None, 10)
    rclpy.spin(node)


def of_cyclone(type_hash):
    from dataclasses import dataclass

    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.annotations import final
    from cyclonedds.idl.types import array, bounded_str, float64, int32, sequence
    from cyclonedds.pub import DataWriter
    from cyclonedds.topic import Topic

    @dataclass
    @final
    class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
        data: str

    @dataclass
    @final
    class Point(IdlStruct, typename="plant_msgs::msg::dds_::Point_"):
        x: float64
        y: float64

    @dataclass
    @final
    class Pose(IdlStruct, typename="plant_msgs::msg::dds_::Pose_"):
        frame: bounded_str[16]
        place: Point
        path: sequence[Point, 4]
        covariance: array[float64, 3]
        codes: sequence[int32]

    participant = DomainParticipant(0)
    qos = Qos(
        Policy.Reliability.Reliable(100_000_000),
        Policy.Userdata(f"typehash={type_hash};".encode()),
        Policy.DataRepresentation(use_cdrv0_representation=True),
    )
    text = DataWriter(participant, Topic(participant, "rt/plant/chatter", String), qos=qos)
    pose = DataWriter(participant, Topic(participant, "rt/plant/pose", Pose), qos=qos)
    number = 0
    while True:
        number += 1
        text.write(String(data=f"cyclone {number}"))
        path = [Point(x=0.5 * step, y=1.0) for step in range(number % 4)]
        place = Point(x=number, y=-number)
        pose.write(Pose("map", place, path, [1.0, 2.0, 3.0], [number, -number]))
        time.sleep(0.1)


def ask_by_cyclone(topic):
    from dataclasses import fields

    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.dynamic import get_types_for_typeid
    from cyclonedds.util import duration

    participant = DomainParticipant(0)
    reader = BuiltinDataReader(participant, BuiltinTopicDcpsPublication)
    for _ in range(50):
        for one in reader.take(N=100):
            if one.topic_name == topic and one.type_id is not None:
                found, _ = get_types_for_typeid(participant, one.type_id, duration(seconds=5))
                print(*(field.name for field in fields(found)))
                return
        time.sleep(0.2)


if sys.argv[1] == "cyclone-ask":
    ask_by_cyclone(sys.argv[2])
elif sys.argv[1] == "cyclone-talker":
    of_cyclone(sys.argv[2])
else:
    of_rclpy(sys.argv[1])
