import { integer } from "#plugin-api";

/** Configuration of the desktop plugin. */
export default {
  waitSeconds: integer("Wait time of a desktop's long poll.", {
    min: 1,
    max: 9,
    default: 8,
  }),
};
