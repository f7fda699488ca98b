"""Prints the DSCP of the UDP packets that arrive on an interface within some seconds: packet-marks.py INTERFACE SECONDS.

The output is one line of JSON: {"PORT": [DSCP, ...]} by destination port.
"""
import json
import socket
import sys
import time

ETH_P_IP = 0x0800
UDP = 17

interface, seconds = sys.argv[1], float(sys.argv[2])
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
packets.bind((interface, ETH_P_IP))
packets.settimeout(0.1)
print("ready", flush=True)
marks = {}
end = time.monotonic() + seconds
while time.monotonic() < end:
    try:
        packet, address = packets.recvfrom(2048)
    except socket.timeout:
        continue
    head = (packet[0] & 0x0F) * 4
    if address[2] == socket.PACKET_OUTGOING or packet[9] != UDP:
        continue
    port = int.from_bytes(packet[head + 2 : head + 4], "big")
    marks.setdefault(port, set()).add(packet[1] >> 2)
print(json.dumps({port: sorted(values) for port, values in marks.items()}), flush=True)
