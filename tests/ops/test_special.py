"""Special functions against values computed with sixty digits, around the borders of their pieces."""

import numpy as np
import pytest

import backblocks as bb

# fmt: off
EXACT = {
    "Erf": [
        (1e-300, 1.1283791670955126e-300),
        (0.001, 0.0011283787909692365),
        (0.3, 0.3286267594591274),
        (0.9999, 0.8426592780487595),
        (1.0001, 0.8427422995485203),
        (2.5, 0.999593047982555),
        (-0.7, -0.6778011938374184),
        (5.5, 0.9999999999999927),
    ],
    "Erfc": [
        (-2.0, 1.9953222650189528),
        (0.1, 0.887537083981715),
        (0.4999, 0.4795880048386134),
        (0.5001, 0.4794122483231193),
        (1.5, 0.033894853524689274),
        (5.625, 1.7920200056510066e-15),
        (10.0, 2.088487583762545e-45),
        (26.0, 5.663192408856143e-296),
    ],
    "Erfinv": [
        (1e-10, 8.862269254527581e-11),
        (0.3, 0.2724627147267543),
        (0.8499, 1.0176527650769829),
        (0.8501, 1.018152291584008),
        (0.99, 1.8213863677184494),
        (-0.999999, -3.458910737275499),
        (0.7463558097814249, 0.8071925215084274),
    ],
    "Ndtri": [
        (1e-300, -37.0470962993612),
        (1e-10, -6.361340902404057),
        (0.001, -3.0902323061678136),
        (0.0749, -1.4402382675279637),
        (0.0751, -1.43882539275254),
        (0.4, -0.2533471031357997),
        (0.9, 1.2815515655446006),
        (0.999, 3.090232306167813),
    ],
    "Lgamma": [
        (1e-300, 690.7755278982137),
        (0.3, 1.0957979948180756),
        (0.4999, 0.5725613186041184),
        (0.7, 0.26086724653166654),
        (0.9999, 5.7729791561193866e-05),
        (1.0001, -5.771334222047127e-05),
        (1.2499, -0.09824908508160847),
        (1.2501, -0.09829457578872629),
        (1.9999, -4.227520877215346e-05),
        (2.0001, 4.2281658112919945e-05),
        (2.9999, 0.6930549041011312),
        (5.5, 3.9578139676187165),
        (9.9999, 12.801602305348396),
        (10.5, 13.940625219403763),
        (171.5, 709.1431630309282),
        (10000000000.0, 220258509288.81058),
        (1e+300, 6.897755278982137e+302),
        (-0.5, 1.2655121234846454),
        (-1.5, 0.860047015376481),
    ],
    "Digamma": [
        (1e-300, -9.999999999999999e+299),
        (0.3, -3.502524222200133),
        (0.9999, -0.5773801703298691),
        (1.0001, -0.5770511835143348),
        (1.46, -0.0015805619870834522),
        (1.4616, -3.110625123034165e-05),
        (1.4632, 0.0015160824074099016),
        (1.9999, 0.42271983967113097),
        (2.0001, 0.4228488264846654),
        (5.5, 1.6110931485817512),
        (9.9999, 2.2517420723779034),
        (10.5, 2.3030010342976865),
        (10000000000.0, 23.025850929890456),
        (-0.5001, 0.03559648958230407),
        (-3.3, 3.620353460592126),
    ],
}
# fmt: on


@pytest.mark.parametrize("name", EXACT)
def test_all_digits_are_right(name):
    x, exact = np.array(EXACT[name]).T
    off = np.abs(getattr(bb.raw_ops, name)(x=x) - exact) / np.spacing(np.abs(exact))
    assert off.max() <= 5, f"{off} units in the last place"


@pytest.mark.parametrize("name", EXACT)
def test_float32_is_float64_rounded(name):
    x = np.array([x for x, _ in EXACT[name] if 1e-30 < abs(x) < 1e30], np.float32)
    wide = getattr(bb.raw_ops, name)(x=x.astype(np.float64))
    with np.errstate(under="ignore"):
        np.testing.assert_array_equal(getattr(bb.raw_ops, name)(x=x), wide.astype(np.float32))


def test_zeta_and_polygamma_meet_what_is_known_of_them():
    pi = np.pi
    zeta = bb.raw_ops.Zeta(x=np.array([2.0, 4, 6]), q=np.array(1.0))
    np.testing.assert_allclose(zeta, [pi**2 / 6, pi**4 / 90, pi**6 / 945], rtol=1e-15)
    q, x = np.array([0.1, 1.5, 7, 40, 1e4]), np.array(2.5)
    step = bb.raw_ops.Zeta(x=x, q=q) - bb.raw_ops.Zeta(x=x, q=q + 1)
    np.testing.assert_allclose(step, q**-2.5, rtol=1e-11)
    far = bb.raw_ops.Zeta(x=np.array([3.0]), q=np.array([-1e6 + 0.25]))  # not term by term
    near = bb.raw_ops.Zeta(x=np.array([3.0]), q=np.array([0.25]))
    below = bb.raw_ops.Zeta(x=np.array([3.0]), q=np.array([0.75]))
    np.testing.assert_allclose(far, near - below, rtol=1e-9)
    slope = bb.raw_ops.Polygamma(a=np.array([1.0, 2]), x=np.array([0.5]))
    np.testing.assert_allclose(slope, [pi**2 / 2, -14 * 1.2020569031595942], rtol=1e-15)
