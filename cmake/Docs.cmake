# SPDX-License-Identifier: Apache-2.0
# Target `docs`: the reference of dialects and passes, written by mlir-tblgen into build/docs; nothing of it is committed.
set(ACCUM_DOCS ${PROJECT_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${ACCUM_DOCS})
set(docs)

# accum_reference(NAME TD FLAG ...): docs/NAME.md from one .td file.
function(accum_reference name td)
  set(source ${PROJECT_SOURCE_DIR}/${td})
  set(page ${ACCUM_DOCS}/${name}.md)
  add_custom_command(OUTPUT ${page}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} -I${PROJECT_SOURCE_DIR} -I${MLIR_INCLUDE_DIRS} ${source} -o ${page} -d ${page}.d
    DEPENDS ${source} DEPFILE ${page}.d
    COMMENT "Writing docs/${name}.md" VERBATIM)
  set(docs ${docs} ${page} PARENT_SCOPE)
endfunction()

accum_reference(nn dialects/NN/NN.td -gen-dialect-doc -dialect=nn)
accum_reference(train dialects/Train/TrainOps.td -gen-dialect-doc -dialect=train)
accum_reference(device dialects/Device/DeviceOps.td -gen-dialect-doc -dialect=device)
file(GLOB phases RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/passes/*/Passes.td)
foreach(td ${phases})
  get_filename_component(phase ${td} DIRECTORY)
  get_filename_component(phase ${phase} NAME)
  string(TOLOWER ${phase} phase)
  accum_reference(passes-${phase} ${td} -gen-pass-doc)
endforeach()
add_custom_target(docs DEPENDS ${docs})
