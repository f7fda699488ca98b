import { json, text } from "#plugin-api";

/** Configuration of the multicast-zones plugin. */
export default {
  zones: json(
    'Zones created as devices: a list of {"name", "group", "port"} with "codec" (PCMU, PCMA or G722, default PCMU), "ttl" ' +
      '(1 to 255, default 16), "priorities" (other addresses for some of the priorities 0 to 9, such as ' +
      '0-1=239.1.2.9:50008,2-4=50004), "interface" (network interface of this zone) and "description". Zones can also be created through the API.',
    { default: [] },
  ),
  networkInterface: text(
    "Network interface that zones are sent from: its name, such as the one of a voice VLAN, or its IPv4 address. " +
      "Default: the setting network.multicastInterface, else the system's routes.",
    { max: 15 },
  ),
};
