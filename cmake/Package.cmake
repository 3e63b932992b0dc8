# SPDX-License-Identifier: Apache-2.0
# What an installation holds beside the binaries: find_package(accum), and what `cpack` makes: a relocatable archive of the
# runtime (TXZ, a third smaller than TGZ), and Debian's packages (DEB).
include(CMakePackageConfigHelpers)
set(config ${PROJECT_BINARY_DIR}/cmake)
set(destination lib/cmake/accum)
set(ACCUM_INCLUDE include/accum)
configure_package_config_file(cmake/accum-config.cmake.in ${config}/accum-config.cmake INSTALL_DESTINATION ${destination}
  PATH_VARS ACCUM_INCLUDE)
write_basic_package_version_file(${config}/accum-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config}/accum-config.cmake ${config}/accum-config-version.cmake
  DESTINATION ${destination} COMPONENT runtime)
install(FILES LICENSE README.md DESTINATION share/doc/accum COMPONENT runtime)
# Of what is inside the binaries, as Debian's packages state them.
set(inside libcli11-dev nlohmann-json3-dev librandom123-dev)
if(ACCUM_STATIC_LLVM)
  list(APPEND inside llvm-22-dev libmlir-22-dev liblld-22-dev)
endif()
foreach(package ${inside})
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/accum/licences RENAME ${package}
    COMPONENT runtime OPTIONAL)
endforeach()
foreach(part runtime compiler)
  install(EXPORT accum-${part} FILE accum-${part}.cmake NAMESPACE accum:: DESTINATION ${destination} COMPONENT ${part})
endforeach()

# The archive alone carries the libraries that the runtime links or loads; libc and libstdc++ are the machine's. oneDNN is
# loaded by name, so it is found through the RPATH of the binaries.
find_library(ACCUM_DNNL dnnl)
install(CODE "set(binaries \"$<TARGET_FILE:accum-run>\")\nset(loaded \"${ACCUM_DNNL}\")\n" COMPONENT libraries
  EXCLUDE_FROM_ALL)
install(SCRIPT cmake/BundleLibraries.cmake COMPONENT libraries EXCLUDE_FROM_ALL)

# What the Python package carries beside its own (python/collect goes on from there).
install(TARGETS accumc accum-run accum-plan accum-diff RUNTIME DESTINATION bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS accum_compiler accum_runtime accum_mpi LIBRARY DESTINATION lib NAMELINK_SKIP COMPONENT wheel EXCLUDE_FROM_ALL)
install(FILES runtime/accum_outputs.h runtime/accum_program.h runtime/accum_runtime.h runtime/accum_verify.h
  compiler/Driver/accum_compiler.h
  DESTINATION include/accum COMPONENT wheel EXCLUDE_FROM_ALL)

# The archive holds the runtime and its libraries; CPackDebian.cmake changes that for Debian's packages.
set(CPACK_PACKAGE_NAME accum-runtime)
set(CPACK_PACKAGE_VENDOR accumc)
set(CPACK_PACKAGE_CONTACT "The authors of accumc <accumc@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/CPackDebian.cmake)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL runtime mpi libraries)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME accum-runtime-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
cpack_add_component_group(accum)
cpack_add_component_group(accum-mpi)
cpack_add_component(runtime GROUP accum)
cpack_add_component(compiler GROUP accum)
cpack_add_component(mpi GROUP accum-mpi)
cpack_add_component(libraries)
