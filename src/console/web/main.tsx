import "./mantine-styles.ts";
import "./console.css";
import { createTheme, MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isTransientError } from "./api/client.ts";
import { App } from "./app.tsx";
import { TranslationProvider } from "./i18n/use-translation.tsx";

/** What drops down stays inside its landmark, where a screen reader looks for it. */
const inPlace = { comboboxProps: { withinPortal: false } };

/** Mantine's greys of the dark scheme in the tint of the console's own, lightest first. */
const DARK = [
  ...["#c9d0de", "#b4bccd", "#8a93a8", "#69738a", "#3f475a"],
  ...["#353c4d", "#262c3a", "#1b1f2a", "#171b25", "#0f121a"],
] as const;

const theme = createTheme({
  colors: { dark: DARK },
  primaryColor: "indigo",
  primaryShade: { light: 9, dark: 8 },
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
  respectReducedMotion: true,
  components: {
    Autocomplete: { defaultProps: inPlace },
    MultiSelect: { defaultProps: inPlace },
    Select: { defaultProps: inPlace },
  },
});

const queries = new QueryClient({
  defaultOptions: {
    // A browser that thinks itself offline may well reach the appliance, above all on the appliance's own screen.
    queries: {
      staleTime: 60_000,
      retry: (failures, error) => failures < 1 && isTransientError(error),
      refetchOnWindowFocus: false,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const place = document.getElementById("root");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <QueryClientProvider client={queries}>
          <TranslationProvider>
            <App />
          </TranslationProvider>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
