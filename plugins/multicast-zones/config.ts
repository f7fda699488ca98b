import { json } from "#plugin-api";

/** The configuration of multicast zones. */
export default {
  zones: json(
    'Zones that the plugin keeps as devices: a list of {"name", "group", "port"} with "codec" (PCMU, PCMA or G722, PCMU ' +
      'when not given), "ttl" (1 to 255, 16 when not given), "priorities" (addresses for some of the priorities 0 to 9, such ' +
      'as 0-1=239.1.2.9:50008,2-4=50004) and "description". Zones can be created by API as well.',
    { default: [] },
  ),
};
