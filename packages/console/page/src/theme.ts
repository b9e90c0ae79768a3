import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** A quiet green of our own; the seventh shade is dark enough for white text on it. */
const pine: MantineColorsTuple = [
  '#eef7f4',
  '#dcece6',
  '#b6d9cb',
  '#8ec5af',
  '#6db498',
  '#57a989',
  '#3f8f70',
  '#2f6f5e',
  '#265c4e',
  '#1a4a3e',
];

export const theme = createTheme({
  colors: { pine },
  primaryColor: 'pine',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'sm',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono", monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '19px' },
  components: {
    // The library's scroll lock makes a style element of its own, which the content security policy does not know.
    Modal: {
      defaultProps: {
        lockScroll: false,
        centered: true,
        transitionProps: { duration: 120 },
        attributes: { header: { role: 'none' } }, // else it counts as a second banner of the page
      },
    },
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Tooltip: {
      defaultProps: { withinPortal: false, openDelay: 300, events: { hover: true, focus: true, touch: false } },
    },
  },
});
