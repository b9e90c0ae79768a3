import {
  AppShell,
  Burger,
  Group,
  Menu,
  Modal,
  NavLink,
  ScrollArea,
  Switch,
  Table,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect, useMemo, type ReactNode } from 'react';
import { goTo, hrefOf, usePlace } from '../location.ts';
import { languages, useTexts } from '../texts/use-texts.tsx';
import { useLive } from '../use-live.tsx';
import { useSession } from '../use-session.tsx';
import { focusSearch } from '../search-focus.ts';
import { moveRow, useShortcuts } from '../use-shortcuts.ts';
import { Icon, type IconName } from './icon.tsx';

const pages: readonly {
  path: string;
  text: 'overview' | 'notifications' | 'endpoints' | 'deadLetters' | 'audit';
  icon: IconName;
  key: string;
}[] = [
  { path: 'overview', text: 'overview', icon: 'pulse', key: 'o' },
  { path: 'notifications', text: 'notifications', icon: 'list', key: 'n' },
  { path: 'endpoints', text: 'endpoints', icon: 'plug', key: 'e' },
  { path: 'dead-letters', text: 'deadLetters', icon: 'inbox', key: 'd' },
  { path: 'audit', text: 'audit', icon: 'clock', key: 'a' },
];

/** Frame of every page: where one is, who one is, and how it looks. */
export function Shell({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const { source, actor, role, endpoints } = useSession();
  const { isLive, setLive } = useLive();
  const [isMenuOpen, menu] = useDisclosure(false);
  const [isHelpOpen, help] = useDisclosure(false);
  const { path } = usePlace();
  const [page = 'overview'] = path;

  useEffect(() => menu.close(), [page]);
  useEffect(() => {
    const name = pages.find((each) => each.path === page)?.text ?? 'overview';
    document.title = `${t.nav[name]} · ${source} · bestnotify`;
  }, [page, source, t]);
  useShortcuts(
    useMemo(
      () => ({
        ...Object.fromEntries(pages.map((each) => [`g ${each.key}`, () => goTo([each.path])])),
        '/': focusSearch,
        j: () => moveRow(1),
        k: () => moveRow(-1),
        l: () => setLive(!isLive),
        '?': () => help.open(),
      }),
      [isLive],
    ),
  );

  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 196, breakpoint: 'sm', collapsed: { mobile: !isMenuOpen } }}
      padding="md"
    >
      <a className="skip" href="#content" onClick={skipToContent}>
        {t.shell.skip}
      </a>
      <AppShell.Header className="header">
        <Group h="100%" px="md" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap" miw={0}>
            <Burger opened={isMenuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label={t.shell.menu} />
            <img src="./icon.svg" width={20} height={20} alt="" />
            <Text fw={600} size="sm" truncate>
              {source}
            </Text>
            <Text size="sm" c="dimmed" visibleFrom="sm">
              {t.shell.console}
            </Text>
          </Group>
          <Group gap="md" wrap="nowrap">
            <Switch
              size="xs"
              checked={isLive}
              onChange={(event) => setLive(event.currentTarget.checked)}
              label={t.shell.live}
              title={t.shell.liveHint}
            />
            <Preferences onHelp={help.open} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t.nav.label}>
        <AppShell.Section grow component={ScrollArea}>
          {pages.map((each) => (
            <NavLink
              key={each.path}
              href={hrefOf([each.path])}
              label={t.nav[each.text]}
              leftSection={<Icon name={each.icon} />}
              active={each.path === page}
              aria-current={each.path === page ? 'page' : undefined}
            />
          ))}
        </AppShell.Section>
        <AppShell.Section className="who">
          <Text size="sm" truncate title={actor}>
            {actor}
          </Text>
          <Text size="xs" c="dimmed">
            {t.shell.roles[role]}
            {endpoints !== null && ` · ${t.shell.limited(endpoints.length)}`}
          </Text>
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        {children}
      </AppShell.Main>
      <Modal
        opened={isHelpOpen}
        onClose={help.close}
        title={t.keys.title}
        closeButtonProps={{ 'aria-label': t.common.close }}
      >
        <Table>
          <Table.Tbody>
            {[
              ['/', t.keys.search],
              ...pages.map((each) => [`g ${each.key}`, t.keys.go(t.nav[each.text])]),
              ['j k', t.keys.move],
              ['⏎', t.keys.open],
              ['l', t.keys.live],
              ['?', t.keys.help],
            ].map(([keys = '', what]) => (
              <Table.Tr key={keys}>
                <Table.Td w={80}>
                  {keys.split(' ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </Table.Td>
                <Table.Td>{what}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Modal>
    </AppShell>
  );
}

function Preferences({ onHelp }: { onHelp: () => void }) {
  const { t, language, setLanguage } = useTexts();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end" width={190} withinPortal={false}>
      <Menu.Target>
        <UnstyledButton className="plain-button" aria-label={`${t.shell.theme}, ${t.shell.language}`}>
          <Icon name="sliders" />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.shell.language}</Menu.Label>
        {languages.map(({ value, label }) => (
          <Menu.Item
            key={value}
            lang={value}
            onClick={() => setLanguage(value)}
            leftSection={<Icon name={value === language ? 'check' : 'blank'} />}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>{t.shell.theme}</Menu.Label>
        {(['light', 'dark', 'auto'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => setColorScheme(scheme)}
            leftSection={<Icon name={scheme === colorScheme ? 'check' : 'blank'} />}
          >
            {t.shell[scheme]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={onHelp} leftSection={<Icon name="blank" />} rightSection={<kbd>?</kbd>}>
          {t.shell.keys}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function skipToContent(event: React.MouseEvent) {
  event.preventDefault(); // the part after # is the place in the page
  document.getElementById('content')?.focus();
}
