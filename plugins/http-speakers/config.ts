import { json, secret } from "#plugin-api";

/** Configuration of the http-speakers plugin. */
export default {
  templates: json(
    'Request templates: a list of {"name", "start"} with "stop", "readVolume", "setVolume", "status" and "probe", ' +
      'each {"method", "path", "headers", "body", "type"} with placeholders such as {{subject}}. "playingWhen" is a text in ' +
      'the response to "status" that proves playback, "volumeAt" the member that holds the volume. "hosts" are ' +
      "names, addresses and networks of allowed devices, required if a template contains a secret.",
    { default: [] },
  ),
  secrets: secret(
    "One line name=secret each: {{secret.name}} in templates; algo:<name>=<password> for one Algo device, algo=<password> for all.",
    { max: 65_536, boundTo: ["templates.hosts"] },
  ),
};
