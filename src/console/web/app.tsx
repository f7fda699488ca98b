import { type Query, useQuery, useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { CallerError } from "../../lib/errors.ts";
import { openSocket } from "./api/browser-socket.ts";
import { type ApiClient, createClient, type Dependent } from "./api/client.ts";
import { createLiveFeed, type FeedState } from "./api/live-feed.ts";
import type { SessionRow } from "./api/rows.ts";
import { createStaleQueries } from "./api/stale-queries.ts";
import { browserClock, createServerClock, type ServerClock } from "./browser-clock.ts";
import { type Console, ConsoleProvider } from "./console-context.tsx";
import { AccountLanguage } from "./features/account/account-language.ts";
import { BrandingColors } from "./features/branding/branding.tsx";
import { useTranslation } from "./i18n/use-translation.tsx";
import { createPendingRemovals } from "./pending-removals.ts";
import { createConsoleRouter } from "./router.tsx";
import { DetachDialog, type DetachQuestion } from "./ui/detach-dialog.tsx";
import { refreshLists } from "./ui/list/refresh-lists.ts";
import { Toast, type ToastMessage } from "./ui/toast.tsx";
import { type UserActivity, watchUserActivity } from "./user-activity.ts";

const ResetPasswordPage = lazy(() => import("./features/account/reset-password-page.tsx"));
const LogInPage = lazy(() => import("./features/account/log-in-page.tsx"));
const FactorSetupPage = lazy(() => import("./features/account/factor-setup-page.tsx"));
const ConfirmIdentityDialog = lazy(() => import("./features/account/confirm-identity-dialog.tsx"));
const LogInAgainDialog = lazy(() => import("./features/account/log-in-again-dialog.tsx"));
const FirstRunPage = lazy(() => import("./features/account/first-run-page.tsx"));

/** Path of the page to which mails lead; the token of the link is the fragment, which browsers send to no server. */
const RESET_PASSWORD_PATH = "/reset-password";

/** The whole console: first run, log-in, or the frame with its pages. */
export function App() {
  const queries = useQueryClient();
  const [clock] = useState(() => createServerClock(browserClock));
  const [feed, setFeed] = useState<FeedState>({ live: true, since: clock.now() });
  const [toast, setToast] = useState<ToastMessage | null>(null);
  const [detaching, setDetaching] = useState<DetachQuestion | null>(null);
  const [attention] = useState(() => watchUserActivity(window, browserClock));
  const [domainId, setDomainId] = useState(() => sessionStorage.getItem(ACTING_DOMAIN_KEY));
  const [removals] = useState(() => createPendingRemovals(browserClock, window));
  const confirmDetach = useCallback(
    (dependents: readonly Dependent[], name: string | null = null) =>
      new Promise<boolean>((resolve) => {
        setDetaching({
          ...{ name, dependents },
          onAnswer(isConfirmed) {
            setDetaching(null);
            resolve(isConfirmed);
          },
        });
      }),
    [],
  );
  const [confirming, setConfirming] = useState<((isConfirmed: boolean) => void) | null>(null);
  const [confirmIdentity] = useState(() => createSharedQuestion((ask) => setConfirming(() => ask)));
  /** Who works here: stays when the session expires, until somebody else comes or logs out. */
  const [user, setUser] = useState<SessionRow | null>(null);
  /** The session that somebody logged out of: rendered once more, it is not a new one. */
  const ended = useRef<SessionRow | null | undefined>(null);
  const isLoggedIn = useRef(false);
  isLoggedIn.current = user !== null;
  const waitingForLogIn = useRef<((isSamePerson: boolean) => void) | null>(null);
  const [logInAgain] = useState(() =>
    createSharedQuestion((answer) => {
      waitingForLogIn.current = answer;
    }),
  );
  const [visit, setVisit] = useState(0);
  const client = useMemo(
    () =>
      createClient({
        fetch: (address, init) => fetch(address, init),
        isUnattended: attention.isIdle,
        onLoggedOut: () => {
          queries.setQueryData(["session"], null);
          return isLoggedIn.current ? logInAgain() : Promise.resolve(false);
        },
        confirmDetach,
        confirmIdentity,
        domainId,
      }),
    [queries, attention, confirmDetach, confirmIdentity, logInAgain, domainId],
  );
  const actIn = useCallback(
    (next: string | null) => {
      storeActingDomain(next);
      setDomainId(next);
      // Rows of one domain must not be shown in another.
      queries.removeQueries({ predicate: ({ queryKey }) => !SAME_EVERYWHERE.has(String(queryKey[0])) });
    },
    [queries],
  );
  const session = useQuery({
    queryKey: ["session"],
    queryFn: async () => {
      // Asked first, since browsers write down every 401.
      const { loggedIn } = await queries.fetchQuery({
        queryKey: ["setup"],
        queryFn: () => client.setup(),
        staleTime: 0,
      });
      return loggedIn ? client.get<SessionRow>("session").catch(noneWhenLoggedOut) : null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const setup = useQuery({ queryKey: ["setup"], queryFn: () => client.setup(), enabled: session.data === null });
  const loggedIn = session.data?.mustSetUpSecondFactor === false;
  if (session.data && loggedIn && session.data !== user && session.data !== ended.current) setUser(session.data);
  const hasExpired = session.data === null && user !== null;
  const isLoggedOut = session.data === null && user === null;
  const { resetLanguage } = useTranslation();
  // The log-in page uses the language of the browser again, not that of the previous user.
  useEffect(() => {
    if (isLoggedOut) resetLanguage();
  }, [isLoggedOut, resetLanguage]);
  useLiveFeed({ loggedIn, client, domainId, clock, asIfAlone: attention.inBackground }, setFeed);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another person gets new pages
  const router = useMemo(createConsoleRouter, [visit]);
  const refreshSession = useCallback(() => {
    ended.current = queries.getQueryData<SessionRow | null>(["session"]);
    setUser(null);
    storeActingDomain(null);
    setDomainId(null);
    waitingForLogIn.current?.(false);
    void queries.resetQueries();
  }, [queries]);
  /** After the session has expired: the same person goes on, for another one the page begins again. */
  const resume = async (): Promise<void> => {
    const next = await client.get<SessionRow>("session").catch(noneWhenLoggedOut);
    if (next?.userId === user?.userId && next?.mustSetUpSecondFactor === false) {
      queries.setQueryData(["session"], next);
      waitingForLogIn.current?.(true);
    } else {
      history.replaceState(null, "", "/");
      setVisit((count) => count + 1);
      refreshSession();
    }
  };
  const value = useMemo<Console>(
    () => ({
      client,
      clock,
      feed,
      removals,
      refreshSession,
      userId: user?.userId ?? null,
      notify: (text, undo) => setToast({ text, undo }),
      confirmDetach,
      acting: { domainId, actIn },
    }),
    [client, clock, feed, removals, refreshSession, user?.userId, confirmDetach, domainId, actIn],
  );
  // A user who follows the link of a mail may be logged in already, perhaps as somebody else.
  const isResetPage = location.pathname === RESET_PASSWORD_PATH;
  return (
    <ConsoleProvider value={value}>
      {setup.data && <BrandingColors branding={setup.data.branding} />}
      <Suspense>
        {session.data && loggedIn && <AccountLanguage session={session.data} />}
        {isResetPage && !setup.isLoading && <ResetPasswordPage />}
        {!isResetPage && (loggedIn || hasExpired) && <RouterProvider key={`${visit} ${domainId}`} router={router} />}
        {session.data && !loggedIn && <FactorSetupPage session={session.data} />}
        {!isResetPage &&
          !session.data &&
          !hasExpired &&
          !session.isLoading &&
          (setup.data?.needed ? <FirstRunPage /> : !setup.isLoading && <LogInPage />)}
      </Suspense>
      {hasExpired && (
        <Suspense>
          <LogInAgainDialog user={user} onLoggedIn={resume} onLeave={refreshSession} />
        </Suspense>
      )}
      {confirming && session.data && (
        <Suspense>
          <ConfirmIdentityDialog
            session={session.data}
            onAnswer={(isConfirmed) => {
              setConfirming(null);
              confirming(isConfirmed);
            }}
          />
        </Suspense>
      )}
      {detaching && <DetachDialog {...detaching} />}
      {toast && <Toast toast={toast} onEnd={() => setToast(null)} />}
    </ConsoleProvider>
  );
}

/** A question to the user that several requests may have at once: it is asked once, and all get the answer. */
function createSharedQuestion(ask: (answer: (isConfirmed: boolean) => void) => void): () => Promise<boolean> {
  let pending: Promise<boolean> | null = null;
  return () => {
    pending ??= new Promise<boolean>(ask).finally(() => {
      pending = null;
    });
    return pending;
  };
}

/** Where the window keeps its acting domain. */
const ACTING_DOMAIN_KEY = "carillon.domain";
/** What is read once, whatever the domain. */
const SAME_EVERYWHERE = new Set(["session", "setup", "schema"]);

function storeActingDomain(domainId: string | null): void {
  if (domainId === null) sessionStorage.removeItem(ACTING_DOMAIN_KEY);
  else sessionStorage.setItem(ACTING_DOMAIN_KEY, domainId);
}

/** After a gap: what was asked for in between failed, whether or not it changed. */
function hasFailed({ state }: Query): boolean {
  return state.error !== null;
}

interface LiveFeedSubscription {
  loggedIn: boolean;
  client: ApiClient;
  domainId: string | null;
  clock: ServerClock;
  asIfAlone: UserActivity["inBackground"];
}

/** Updates from the feed are not requested by the user, even if one is active. */
function useLiveFeed(
  { loggedIn, client, domainId, clock, asIfAlone }: LiveFeedSubscription,
  onState: (state: FeedState) => void,
): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!loggedIn) return;
    let wasLive = true;
    const feed = createLiveFeed({
      clock,
      domainId,
      onServerTime: clock.set,
      open: openSocket,
      onState(state) {
        onState(state);
        // The daemon also disconnects a client whose session has ended; reading the session tells the two apart.
        if (!state.live) asIfAlone(() => void queries.invalidateQueries({ queryKey: ["session"] }));
        else if (!wasLive) asIfAlone(() => void queries.invalidateQueries({ predicate: hasFailed }));
        wasLive = state.live;
      },
      onChanges: createStaleQueries(browserClock, (resource, changes) =>
        asIfAlone(() => refreshLists({ queries, client }, resource, changes)),
      ),
      onResync: () =>
        asIfAlone(() => void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" })),
    });
    feed.start();
    return () => feed.stop();
  }, [loggedIn, client, domainId, clock, asIfAlone, queries, onState]);
}

function noneWhenLoggedOut(error: unknown): null {
  // The domain that the window acted in is gone, or no longer the user's.
  if (error instanceof CallerError && error.faults.some(({ field }) => field === "domain")) {
    storeActingDomain(null);
    location.reload();
  }
  if (error instanceof CallerError && error.type === "unauthorized") return null;
  throw error;
}
