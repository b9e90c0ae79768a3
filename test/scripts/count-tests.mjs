/**
 * What vitest's JSON report says, in numbers. `failure` is how vitest itself ended, if badly.
 *
 * A test file that cannot be loaded counts as one failure, and so does a run that ends badly although no test failed, such
 * as by an unhandled rejection.
 */
export function countTests(report, failure) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, notes: [`vitest left no report: ${failure}.`] };
  const brokenFiles = report.testResults.filter(({ status, assertionResults }) => {
    return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
  });
  let failed = report.numFailedTests + brokenFiles.length;
  if (failed === 0 && failure !== undefined) failed = 1;
  const passedTests = report.testResults.flatMap(({ assertionResults }) => assertionResults).filter(isPassed);
  const on = ['PostgreSQL', 'PGlite', 'Redis'].map((name) => {
    return `${passedTests.filter((test) => test.fullName.includes(name)).length} ${name}`;
  });
  return {
    passed: report.numPassedTests,
    failed,
    skipped: report.numPendingTests + report.numTodoTests,
    notes: [`Passed tests that name their service: ${on.join(', ')}.`],
  };
}

const isPassed = (test) => test.status === 'passed';
