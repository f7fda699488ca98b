import { definePlugin } from "#plugin-api";
import config from "./config.ts";
import { handleInputRequest } from "./input-request.ts";
import { parseSources } from "./input-sources.ts";
import { createSourceRateLimiter } from "./rate-limiter.ts";

/** Inputs over HTTP: a source authenticates with its secret and reports an event. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sources, errors } = parseSources(ctx.config.sources, ctx.config.secrets);
    const rateLimiter = createSourceRateLimiter(ctx.clock);
    const trigger = async (input: Parameters<typeof ctx.trigger>[0]): Promise<void> => {
      try {
        await ctx.trigger(input);
      } catch (error) {
        ctx.log.error(
          { event: "input.store_failed", source: input.source, error: String(error) },
          "failed to store input",
        );
        throw error;
      }
    };
    ctx.route("", (request) => handleInputRequest(request, { sources, rateLimiter, trigger }));
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else ctx.status("ok");
  },
});
