// Says that it is ready, and repeats what it is told: the smallest child, to test the fixture by.
import { createInterface } from 'node:readline';

console.log(`ready ${process.argv.slice(2).join(' ')}`);
createInterface({ input: process.stdin }).on('line', (line) => console.log(line));
