import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTrackedQuery } from "../api/page-queries.ts";
import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import { useConsole } from "../console-context.tsx";

/** A picture of the API as an address for this page; null until it is there. `version` differs when its bytes do; null for none. */
export function useImage(route: RouteFor<"get">, params: RouteParams, version: string | null) {
  const { client } = useConsole();
  const picture = useTrackedQuery(
    useQuery({
      queryKey: [ROUTES[route].resource, route, params, version],
      queryFn: () => client.bytes(route, params),
      enabled: version !== null,
      staleTime: Number.POSITIVE_INFINITY,
    }),
  );
  return { url: useObjectUrl((version !== null && picture.data) || null), error: picture.error };
}

/** An address of bytes that the page holds; forgotten when they are others. */
export function useObjectUrl(bytes: Blob | null): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!bytes) return setUrl(null);
    const made = URL.createObjectURL(bytes);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  return url;
}
