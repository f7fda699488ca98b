import "./mantine-styles.ts";
import "./console.css";
import { createTheme, MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { WordsProvider } from "./words/use-words.tsx";

/** What drops down stays inside its landmark, where a screen reader looks for it. */
const inPlace = { comboboxProps: { withinPortal: false } };

const theme = createTheme({
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
  defaultOptions: { queries: { staleTime: 60_000, retry: 1, refetchOnWindowFocus: false } },
});

const place = document.getElementById("root");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <QueryClientProvider client={queries}>
          <WordsProvider>
            <App />
          </WordsProvider>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
