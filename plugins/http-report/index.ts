import { definePlugin } from "#plugin-api";
import config from "./config.ts";
import { fetchReportLines } from "./report-lines.ts";
import { parseReportSources } from "./report-sources.ts";
import { sentence } from "./sentences.ts";

/** Reports whose lines a service returns. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sources, errors } = parseReportSources(ctx.config.reports);
    const { secret } = ctx.config;
    for (const source of sources)
      ctx.report(source.report, (request) => fetchReportLines(source, request, { fetch: ctx.fetch, secret }));
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else if (sources.length === 0) ctx.status("unconfigured", sentence("reports-missing"));
    else ctx.status("ok");
  },
});
