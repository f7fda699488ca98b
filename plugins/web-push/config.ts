import { integer, text } from "#plugin-api";

/** The configuration of push messages to browsers. */
export default {
  contact: text("Whom push services write to when something is wrong: `mailto:it@example.org` or an https address.", {
    max: 250,
  }),
  atOnce: integer("Messages under way to one push service at once.", { min: 1, max: 200, default: 40 }),
};
