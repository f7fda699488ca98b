import type { Deprecation } from "../schema/resource.ts";
import { API_PREFIX } from "./incoming-request.ts";

/** Deprecation headers of a response. @source RFC 9745, RFC 8594 */
export function deprecationHeaders({ since, sunset, successor }: Deprecation): Record<string, string> {
  return {
    Deprecation: `@${Date.parse(since) / 1_000}`,
    ...(sunset === undefined ? {} : { Sunset: new Date(sunset).toUTCString() }),
    ...(successor === undefined ? {} : { Link: `<${API_PREFIX}${successor}>; rel="successor-version"` }),
  };
}

/** The deprecation as text for the OpenAPI document. */
export function deprecationText({ since, sunset, successor }: Deprecation): string {
  const end = sunset === undefined ? "" : `, served until ${sunset}`;
  const instead = successor === undefined ? "" : `; use \`/${successor}\` instead`;
  return `Deprecated since ${since}${end}${instead}.`;
}
