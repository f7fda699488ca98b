import type { Middleware } from "koa";
import type { Endpoint } from "../../../src/http/endpoint.ts";
import type { RequestState } from "../../../src/http/incoming-request.ts";
import { createApiRouter as composeRouter, routeShape } from "../../../src/http/router.ts";
import { observation, recordOutcome } from "./state.ts";

/**
 * Stands in for the router's `routeTo` while tests are watched: notes which route served or refused, and routes as if the
 * API had been composed without the route that is taken away.
 */
export const createApiRouter: typeof composeRouter = (endpoints, serve) => {
  const whole = composeRouter(endpoints, async (endpoint, context) => {
    try {
      const answer = await serve(endpoint, context);
      recordOutcome(nameOf(endpoint), (answer.status ?? 200) < 400 ? "served" : "refused");
      return answer;
    } catch (error) {
      recordOutcome(nameOf(endpoint), "refused");
      throw error;
    }
  });
  const lacking = new Map<string, RouterWithoutRoute>();
  return (context, next) => {
    const { without } = observation;
    if (without === null) return whole(context, next);
    const known = lacking.get(without) ?? composeWithout(endpoints, without, serve);
    lacking.set(without, known);
    if (known.pattern.test(`${context.method === "HEAD" ? "GET" : context.method} ${context.path}`))
      observation.isMissed = true;
    return known.routing(context, next);
  };
};

interface RouterWithoutRoute {
  routing: Middleware<RequestState>;
  /** Requests that the route would serve. */
  pattern: RegExp;
}

function composeWithout(
  endpoints: readonly Endpoint[],
  route: string,
  serve: Parameters<typeof composeRouter>[1],
): RouterWithoutRoute {
  const [method = "", shape = ""] = route.split(" ");
  const path = shape.replace(/[.]/g, "\\.").replaceAll("{}", "[^/]+");
  return {
    routing: composeRouter(
      endpoints.filter((endpoint) => nameOf(endpoint) !== route),
      serve,
    ),
    pattern: new RegExp(`^${method} /api${path}/?$`),
  };
}

function nameOf({ method, at }: Endpoint): string {
  return `${method.toUpperCase()} /${routeShape(at)}`;
}
