import type { Access } from "../access/principal.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import type { PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Settings } from "../settings/schema.ts";
import type { Store } from "../store/store.ts";

/** What the API is made of. */
export interface ApiNeeds {
  catalogue: Catalogue;
  store: Store;
  access: Access;
  clock: Clock;
  log: Log;
  settings: Settings;
  broadcaster: Broadcaster;
  plugins: {
    /** A request under /x/<plugin>; null when no such plugin runs. */
    route(plugin: string, request: PluginRequest): Promise<PluginResponse | null>;
  };
}
