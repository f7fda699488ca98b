import { definePlugin } from "#plugin-api";
import config from "./config.ts";
import { askFilterService } from "./filter-request.ts";
import { sentence } from "./sentences.ts";

/** A filter of recipients: a service is asked before a message goes out. */
export default definePlugin({
  config,
  activate(ctx) {
    const { url, secret, timeoutMs } = ctx.config;
    if (url === null) return ctx.status("unconfigured", sentence("url-missing"));
    ctx.filter(async (request) => {
      try {
        const result = await askFilterService(request, { fetch: ctx.fetch, url, secret, timeoutMs });
        ctx.status("ok");
        return result;
      } catch (error) {
        ctx.status("degraded", error instanceof Error ? error.message : String(error));
        throw error;
      }
    });
    ctx.status("ok");
  },
});
