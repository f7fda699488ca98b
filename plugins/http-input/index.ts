import { definePlugin } from "#plugin-api";
import { answer } from "./answer.ts";
import config from "./config.ts";
import { createPace } from "./pace.ts";
import { readSources } from "./sources.ts";

/** Inputs over HTTP: who shows the secret of a source tells what happened to it. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sources, faults } = readSources(ctx.config.sources, ctx.config.secrets);
    const pace = createPace(ctx.clock);
    const trigger = async (input: Parameters<typeof ctx.trigger>[0]): Promise<void> => {
      try {
        await ctx.trigger(input);
      } catch (error) {
        ctx.log.error({ source: input.source, error: String(error) }, "an input could not be stored");
        throw error;
      }
    };
    ctx.route("", (request) => answer(request, { sources, pace, trigger }));
    if (faults.length > 0) ctx.status("degraded", faults.join("; "));
    else ctx.status("ok");
  },
});
