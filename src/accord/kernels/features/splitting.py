"""Two sets of columns that depend little on each other and are as strong in every row: flips one at a time."""

from accord.kernels.compiling import kernel


@kernel
def flip_columns(
    dependence_ptr, dependence_with, dependence, strength_ptr, strength_rows, strength, order, tol, signs, pulls, tilts
):
    """One sweep of flips over the columns in ``order``, each made if it lowers the objective; how many were made.

    The objective is ``sum_n tilts[n]^2 - sum_ij dependence_ij signs_i signs_j / 4``. ``pulls`` (n_columns,) are the
    products of the dependence with the signs, ``tilts`` (n_rows,) those of the strengths; all three are kept true.
    """
    n_flips = 0
    for j in order:
        sign = signs[j]
        change = sign * pulls[j]
        for k in range(strength_ptr[j], strength_ptr[j + 1]):
            change += 4.0 * strength[k] * (strength[k] - sign * tilts[strength_rows[k]])
        if change < -tol:
            n_flips += 1
            signs[j] = -sign
            for k in range(dependence_ptr[j], dependence_ptr[j + 1]):
                pulls[dependence_with[k]] -= 2.0 * sign * dependence[k]
            for k in range(strength_ptr[j], strength_ptr[j + 1]):
                tilts[strength_rows[k]] -= 2.0 * sign * strength[k]
    return n_flips
