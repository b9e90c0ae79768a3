import { createContext, useContext, useEffect, useMemo, type ReactNode } from 'react';
import { useLocalStorage } from '@mantine/hooks';
import { en, type Texts } from './en.ts';
import { zh } from './zh.ts';

export type Language = 'en' | 'zh-CN';

export const languages: readonly { value: Language; label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'zh-CN', label: '简体中文' },
];

interface Words {
  t: Texts;
  language: Language;
  setLanguage: (language: Language) => void;
}

const Context = createContext<Words>({ t: en, language: 'en', setLanguage: () => undefined });

export function TextsProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useLocalStorage<Language>({
    key: 'bestnotify-language',
    defaultValue: navigator.language.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en',
    getInitialValueInEffect: false,
  });
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const words = useMemo(() => ({ t: language === 'zh-CN' ? zh : en, language, setLanguage }), [language, setLanguage]);
  return <Context value={words}>{children}</Context>;
}

export function useTexts(): Words {
  return useContext(Context);
}
