import { json, secret } from "#plugin-api";

/** The configuration of speakers that obey HTTP requests. */
export default {
  templates: json(
    'What devices are asked: a list of {"name", "start"} with "stop", "readVolume", "setVolume", "status" and "probe", ' +
      'each {"method", "path", "headers", "body", "type"} with places such as {{subject}}; "playingWhen" is a text in ' +
      'the answer to "status" that proves that the device plays, "volumeAt" the member that holds the volume. "hosts" are ' +
      "names, addresses and networks of devices that may be asked, needed where a template tells a secret.",
    { default: [] },
  ),
  secrets: secret(
    "A line name=secret each: {{secret.name}} in templates; algo:<name>=<password> of one Algo device, algo=<password> of all.",
    { max: 65_536 },
  ),
};
