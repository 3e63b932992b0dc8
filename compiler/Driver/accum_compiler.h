/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of the compiler: the words of accumc's command line in; an artifact, and what was said,
 * out. accumc is written against it; libaccum_compiler.so defines it.
 *
 * Threads that compile wait for each other. Signals stay the caller's where he has handlers of his own.
 */
#ifndef ACCUM_COMPILER_H
#define ACCUM_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *accum_compiler_version(void);

enum accum_severity { ACCUM_SAID_ERROR = 1, ACCUM_SAID_WARNING, ACCUM_SAID_NOTICE, ACCUM_SAID_NOTE };

/* What was said, in parts. Strings are UTF-8, never null, and live as long as the compilation. */
typedef struct accum_diagnostic {
  uint32_t size;            /* sizeof(accum_diagnostic) of the library */
  int32_t severity;         /* accum_severity */
  const char *slug;         /* the stable word of an error, "cross-batch"; "" where there is none */
  const char *node;         /* the ONNX node, tensor or input that it is about; "" */
  const char *op;           /* the node's operator; "" */
  const char *text;         /* one sentence, with node and slug */
  const char *const *notes; /* the ways out, up to a null */
} accum_diagnostic;

/* Called with text as it is said, whole lines: stream 1 is the result, 2 are messages. */
typedef void (*accum_compiler_writer)(void *user, int32_t stream, const char *text, size_t bytes);

typedef struct accum_compile_options {
  uint32_t size;                /* sizeof(accum_compile_options) */
  accum_compiler_writer writer; /* null: what is said is kept only */
  void *user;                   /* of the writer */
  int32_t parses_only; /* non-zero: only says what is wrong with the words themselves, and reads no file */
} accum_compile_options;

typedef struct accum_compilation accum_compilation;

/* Compiles, or does what else the words say: `MODEL.onnx --batch 64 -o DIR`, `check MODEL.onnx --json`,
 * `MODEL.onnx --batch 64 --plan-only`. The program's own name is not among them. Returns accumc's exit code:
 * 0; 1 refused; 2 usage; 3 file; 4 a program that was timed did not run; 70 internal. options may be null.
 * *compilation is set in each case, and freed by the caller. */
int accum_compile(const char *const *words, size_t count, const accum_compile_options *options,
                  accum_compilation **compilation);
void accum_compilation_free(accum_compilation *compilation);

/* Null behind the last one. */
const accum_diagnostic *accum_compilation_diagnostic(const accum_compilation *compilation, size_t index);
/* The summary for people, also with --json; what --list-targets, --help and --to print. */
const char *accum_compilation_text(const accum_compilation *compilation);
/* With --json the object, on failure too; else "". */
const char *accum_compilation_json(const accum_compilation *compilation);

/* The options of accumc without their dashes, until null. */
const char *accum_compiler_option(size_t index);
/* Which of `known` (names without dashes, up to a null) is meant by a word that is none of them: what other
 * programs call so, or the nearest one; null where there is none. Valid until this thread's next call. */
const char *accum_compiler_meant(const char *word, const char *const *known);

#ifdef __cplusplus
}
#endif
#endif
