import { integer } from "#plugin-api";

/** The configuration of desktops. */
export default {
  waitSeconds: integer("How long a desktop's question waits for something new before it is asked again.", {
    min: 1,
    max: 9,
    default: 8,
  }),
};
