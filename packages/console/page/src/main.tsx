import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiRefusal } from './api-client.ts';
import { App } from './app.tsx';
import { TextsProvider } from './texts/use-texts.tsx';
import { theme } from './theme.ts';
import { LiveProvider } from './use-live.tsx';

const container = document.getElementById('page');
if (container === null) throw new Error('the page has no container');
const nonce = container.dataset['styleNonce'] ?? '';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // What the server has refused once it refuses again; only a lost connection is worth another try.
      retry: (count, error) => !(error instanceof ApiRefusal) && count < 2,
      staleTime: 1_000,
    },
  },
});

createRoot(container).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={client}>
        <TextsProvider>
          <LiveProvider>
            <Notifications position="top-right" autoClose={5000} />
            <App />
          </LiveProvider>
        </TextsProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
