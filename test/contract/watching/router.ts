import type { Middleware } from "koa";
import type { Endpoint } from "../../../src/rest/endpoint.ts";
import type { RequestState } from "../../../src/rest/incoming.ts";
import { routeTo as compose, shapeOf } from "../../../src/rest/router.ts";
import { meet, watch } from "./state.ts";

/**
 * Stands in for the router's `routeTo` while tests are watched: notes which route served or refused, and routes as if the
 * API had been composed without the route that is taken away.
 */
export const routeTo: typeof compose = (endpoints, serve) => {
  const whole = compose(endpoints, async (endpoint, context) => {
    try {
      const answer = await serve(endpoint, context);
      meet(nameOf(endpoint), (answer.status ?? 200) < 400 ? "served" : "refused");
      return answer;
    } catch (error) {
      meet(nameOf(endpoint), "refused");
      throw error;
    }
  });
  const lacking = new Map<string, Lacking>();
  return (context, next) => {
    const { without } = watch;
    if (without === null) return whole(context, next);
    const known = lacking.get(without) ?? composeWithout(endpoints, without, serve);
    lacking.set(without, known);
    if (known.pattern.test(`${context.method === "HEAD" ? "GET" : context.method} ${context.path}`))
      watch.isMissed = true;
    return known.routing(context, next);
  };
};

interface Lacking {
  routing: Middleware<RequestState>;
  /** Requests that the route would serve. */
  pattern: RegExp;
}

function composeWithout(endpoints: readonly Endpoint[], route: string, serve: Parameters<typeof compose>[1]): Lacking {
  const [method = "", shape = ""] = route.split(" ");
  const path = shape.replace(/[.]/g, "\\.").replaceAll("{}", "[^/]+");
  return {
    routing: compose(
      endpoints.filter((endpoint) => nameOf(endpoint) !== route),
      serve,
    ),
    pattern: new RegExp(`^${method} /api${path}/?$`),
  };
}

function nameOf({ method, at }: Endpoint): string {
  return `${method.toUpperCase()} /${shapeOf(at)}`;
}
