import { integer, text } from "#plugin-api";

/** Configuration of the web-push plugin. */
export default {
  contact: text("Contact for the push services: `mailto:it@example.org` or an https URL.", {
    max: 250,
  }),
  atOnce: integer("Maximum number of concurrent requests per push service.", { min: 1, max: 200, default: 40 }),
};
