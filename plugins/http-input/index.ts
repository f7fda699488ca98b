import { definePlugin } from "#plugin-api";
import config from "./config.ts";
import { handleInputRequest } from "./input-request.ts";
import { parseSources } from "./input-sources.ts";
import { createSourceRateLimiter } from "./rate-limiter.ts";

/** Inputs over HTTP: who shows the secret of a source tells what happened to it. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sources, errors } = parseSources(ctx.config.sources, ctx.config.secrets);
    const rateLimiter = createSourceRateLimiter(ctx.clock);
    const trigger = async (input: Parameters<typeof ctx.trigger>[0]): Promise<void> => {
      try {
        await ctx.trigger(input);
      } catch (error) {
        ctx.log.error({ source: input.source, error: String(error) }, "an input could not be stored");
        throw error;
      }
    };
    ctx.route("", (request) => handleInputRequest(request, { sources, rateLimiter, trigger }));
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else ctx.status("ok");
  },
});
