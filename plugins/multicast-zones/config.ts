import { json } from "#plugin-api";

/** The configuration of multicast zones. */
export default {
  zones: json(
    'Zones that the plugin keeps as devices: a list of {"name", "group", "port"} with "codec" (PCMU or G722, PCMU when ' +
      'not given), "ttl" (1 to 255, 16 when not given) and "description". Zones can be created by API as well.',
    { default: [] },
  ),
};
