import { notifications } from '@mantine/notifications';
import { useTexts } from '../texts/use-texts.tsx';

/** Says that something is done, in a corner, for a few seconds. */
export function useToast(): (message: string) => void {
  const { t } = useTexts();
  return (message) =>
    void notifications.show({ message, color: 'pine', closeButtonProps: { 'aria-label': t.common.close } });
}
