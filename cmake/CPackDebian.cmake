# SPDX-License-Identifier: Apache-2.0
# Read by cpack before it packs. Debian's packages: accum (compiler and runtime) and accum-mpi, so that who trains on one
# device needs no MPI. oneDNN is loaded by name, which dpkg-shlibdeps does not see; its package has another name in each
# release.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
  set(CPACK_COMPONENTS_ALL runtime compiler mpi)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_ACCUM_PACKAGE_NAME accum)
  set(CPACK_DEBIAN_ACCUM_PACKAGE_DEPENDS "libdnnl2 | libdnnl3 | libdnnl3.6")
  set(CPACK_DEBIAN_ACCUM_PACKAGE_SUGGESTS accum-mpi)
  set(CPACK_DEBIAN_ACCUM-MPI_PACKAGE_NAME accum-mpi)
  set(CPACK_DEBIAN_ACCUM-MPI_PACKAGE_DEPENDS "accum, openmpi-bin")
endif()
